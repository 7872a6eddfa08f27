"""Stand-ins for PyTorch, transformers and Lightning, as far as the package python/oomdoctor calls them.

The hooks of transformers and Lightning have the documented signatures:

* transformers.TrainerCallback: on_train_begin, on_step_begin, on_step_end, on_prediction_step, on_evaluate, on_predict
  and on_train_end receive (args, state, control, **kwargs). kwargs contains the model. The Trainer passes no batch and
  reports no exception. on_predict and on_evaluate also receive `metrics`.
* lightning.pytorch.Callback: on_train_start(trainer, pl_module), on_exception(trainer, pl_module, exception),
  on_train_batch_start(trainer, pl_module, batch, batch_idx),
  on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx),
  on_validation_batch_end(trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0); those of test and predict
  alike.

The stand-in of PyTorch has the functions of torch.cuda that the package calls, with figures that the tests choose.
"""
import errno
import importlib
import pathlib
import pickle
import sys
import types
from unittest import mock

MIB = 2**20


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


class OutOfMemoryError(RuntimeError):
    pass


class FakeTorch(types.ModuleType):
    """PyTorch with one GPU, as far as the package calls it. Sizes are in MiB."""

    def __init__(self):
        super().__init__("torch")
        self.sizes = {"allocated": 1000.5, "reserved": 1500, "max allocated": 1200.25, "max reserved": 1600,
                      "free": 22000, "total": 24259.69}
        self.snapshots, self.history, self.calls = [], True, []
        self._C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: self.history)
        self.cuda = types.SimpleNamespace(
            is_initialized=lambda: True, current_device=lambda: 1, memory_stats=self.memory_stats,
            mem_get_info=self.mem_get_info, memory=types.SimpleNamespace(_dump_snapshot=self.dump),
            OutOfMemoryError=OutOfMemoryError)

    def size(self, name):
        return int(self.sizes[name] * MIB)

    def memory_stats(self, device):
        self.calls.append("memory_stats")
        return {"allocated_bytes.all.current": self.size("allocated"), "allocated_bytes.all.peak":
                self.size("max allocated"), "reserved_bytes.all.current": self.size("reserved"),
                "reserved_bytes.all.peak": self.size("max reserved")}

    def mem_get_info(self, device):
        self.calls.append("mem_get_info")
        return self.size("free"), self.size("total")

    def dump(self, path):
        if self.snapshots is None:
            raise OSError(errno.ENOSPC, "disk full")
        pathlib.Path(path).write_bytes(pickle.dumps({"segments": []}))
        self.snapshots.append(path)


class Model:
    """A model with one forward pre-hook, called as torch.nn.Module calls it."""

    def __init__(self):
        self.hooks = []

    def register_forward_pre_hook(self, hook, *, with_kwargs=False):
        assert with_kwargs
        self.hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: self.hooks.remove(hook))

    def __call__(self, *args, **kwargs):
        for hook in self.hooks:
            hook(self, args, kwargs)


def import_with(module, name, base):
    """A module of the package, imported anew where `name` is a library with the class `base` of callbacks."""
    library = types.ModuleType(name)
    setattr(library, base, type(base, (), {"__module__": name}))
    parents = {name.split(".")[0]: types.ModuleType(name.split(".")[0])}
    with mock.patch.dict(sys.modules, {**parents, name: library}):
        sys.modules.pop(module, None)
        return importlib.import_module(module)


def forget_troubles():
    """A process names each kind of trouble once; each test is a new process in this respect."""
    importlib.import_module("oomdoctor.harmless")._named.clear()
