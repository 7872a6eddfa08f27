"""Batches that cannot be read, or not in a short time: a part of the list of troubles.py."""
import errno
import itertools
import types
from unittest import mock

from stand_ins import Tensor
from troubles import LOOPS, raises, trouble


class Lazy:
    """A batch that runs the program's code when it is read: an exception to raise, or a function."""

    def __init__(self, effect):
        self.effect = effect

    def keys(self):
        return ["first", "second"]

    def __contains__(self, name):
        return False

    def __getitem__(self, name):
        if callable(self.effect):
            return self.effect()
        raise self.effect


class Unread:
    @property
    def shape(self):
        raise RuntimeError("the tensor is freed")


def odd_batch(says="print the batch shape", named=LOOPS):
    def added(function):
        def changed(world):
            world.batch = lambda n: function()
        changed.__name__ = "batch_" + function.__name__
        trouble(says, named)(changed)
        return function
    return added


@odd_batch("values and 8 levels have no tensor")
def that_contains_itself():
    batch = {"text": "a"}
    batch["x"] = batch["y"] = batch
    return batch


@odd_batch("values and 8 levels have no tensor")
def of_many_levels():
    batch = []
    for _ in range(100_000):
        batch = [batch]
    return batch


@odd_batch(named=())
def of_many_texts():
    return ["text"] * 1_000_000


@odd_batch(named=())
def of_many_names():
    return dict.fromkeys(range(100_000))


@odd_batch("unknown extent")
def with_an_unknown_extent():
    return Tensor(4, None)


@odd_batch("unknown extent")
def with_an_extent_nan():
    return Tensor(float("nan"), 8)


@odd_batch("unknown extent")
def with_a_negative_extent():
    return Tensor(-1, 8)


@odd_batch("unknown extent")
def with_an_endless_shape():
    return types.SimpleNamespace(shape=itertools.count())


@odd_batch("TypeError")
def whose_shape_is_a_number():
    return types.SimpleNamespace(shape=5)


@odd_batch("RuntimeError in line")
def whose_shape_raises():
    return Unread()


@odd_batch("KeyError in line")
def that_is_lazy():
    return Lazy(KeyError("x"))


@odd_batch("OSError EIO in line")
def that_is_on_a_broken_disk():
    return Lazy(OSError(errno.EIO, "Input/output error"))


@odd_batch("Exception in line")
def that_does_not_fit_into_host_ram():
    return Lazy(MemoryError())


@odd_batch("TypeError")
def whose_keys_are_a_list():
    return types.SimpleNamespace(keys=["x"])


@odd_batch("TypeError")
def that_is_a_class():
    return dict


@odd_batch("AttributeError in line")
def whose_attributes_raise_later():
    class Batch:
        keys = property(raises(RuntimeError("no keys")))
        shape = property(lambda self: types.SimpleNamespace().missing)

    return {"x": Batch(), "y": Lazy(AttributeError("z"))}


@odd_batch("RuntimeError")
def that_changes_while_it_is_read():
    class Batch(dict):
        def keys(self):
            for key in super().keys():
                self[len(self)] = key
                yield key

    return Batch(a=1, b=2)


@odd_batch(named=())
def that_answers_everything():
    return mock.MagicMock()


@odd_batch("TypeError")
def that_is_a_mock():
    return mock.Mock()
