"""A callback for the Trainer of transformers: Trainer(..., callbacks=[MemoryCallback()]).

The Trainer reports no exceptions to its callbacks. For a snapshot, put the call of train() into snapshot_on_oom():

    with snapshot_on_oom():
        trainer.train()
"""
import contextlib

from transformers import TrainerCallback

from oomdoctor.harmless import harmless, harmless_hook
from oomdoctor.torch import count_elements, describe_batch, is_due, log_batch, log_memory, snapshot_on_oom

__all__ = ["MemoryCallback", "snapshot_on_oom"]


class InputHook:
    """A forward pre-hook that reports the shape of each batch, because callbacks do not receive the batch."""

    def __init__(self, report=None):
        self.report = report  # called with the batch

    def __reduce__(self):
        return InputHook, ()  # a copy of the model copies its hooks, and must not copy a stream with them

    def __call__(self, module, args, kwargs):
        with harmless("print the batch shape"):
            if self.report is not None:
                self.report(kwargs or [args])


class LargestInput:
    """The largest batch since the last line."""

    def __init__(self):
        self.shape = self.length = None

    def add(self, shape, length):
        if count_elements(shape) > count_elements(self.shape):
            self.shape, self.length = shape, length

    def take(self):
        """The arguments of log_memory() for it."""
        taken = {"batch": self.shape, "sequence_length": self.length}
        self.shape = self.length = None
        return taken


class MemoryCallback(TrainerCallback):
    """Prints the memory after every `every`-th update step, and after every `every`-th batch of an evaluation.

    It prints the shape of a training batch before the forward pass if it is the largest so far: a batch that does not
    fit never reaches the end of its step.

    every: 10 by default, which keeps a log of 10,000 steps under 300 kB. What is not a number above 0 counts as 10.
    shapes: prints the shape of the largest batch since the last line. This needs PyTorch 2.0. The callback does it by a
        hook on the model, and leaves it out if the training arguments have torch_compile=True.
    file: a text stream; standard error if None. A copy of the callback prints to standard error.
    """

    def __init__(self, every=10, *, shapes=True, file=None):
        self.every, self.shapes, self.file = every, shapes, file
        self.hook, self.trained, self.evaluated = None, LargestInput(), LargestInput()
        self.trains, self.step, self.prediction_batch = False, None, 0  # `step`: the one that runs now
        self.largest = 0  # the largest batch of the training so far, in elements

    def __getstate__(self):
        return {**self.__dict__, "file": None, "hook": None}  # streams and hooks have no copy

    @harmless_hook
    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.trains, self.step, self.largest = True, None, 0
        self._unwatch()  # a training that failed may be repeated, with another model
        self._watch(args, model)
        log_memory(state.global_step, phase="before training", file=self.file)

    @harmless_hook
    def on_step_begin(self, args, state, control, **kwargs):
        self.step = state.global_step + 1

    @harmless_hook
    def on_step_end(self, args, state, control, **kwargs):
        self.step = None
        if is_due(state.global_step, self.every, file=self.file):
            log_memory(state.global_step, file=self.file, **self.trained.take())

    @harmless_hook
    def on_prediction_step(self, args, state, control, model=None, **kwargs):
        self._watch(args, model)
        self.prediction_batch += 1
        if is_due(self.prediction_batch, self.every, file=self.file):
            log_memory(self.prediction_batch, phase="evaluation", file=self.file, **self.evaluated.take())

    @harmless_hook
    def on_evaluate(self, args, state, control, **kwargs):
        self._end_evaluation()

    @harmless_hook
    def on_predict(self, args, state, control, metrics=None, **kwargs):
        self._end_evaluation()

    @harmless_hook
    def on_train_end(self, args, state, control, **kwargs):
        self.trains = False
        self._unwatch()

    def _end_evaluation(self):
        self.prediction_batch = 0
        self.evaluated.take()
        if not self.trains:
            self._unwatch()

    def _see(self, batch):
        shape, length = describe_batch(batch, file=self.file)
        if self.step is None:
            self.evaluated.add(shape, length)
            return
        self.trained.add(shape, length)
        if count_elements(shape) > self.largest:
            self.largest = count_elements(shape)
            log_batch(self.step, shape, sequence_length=length, file=self.file)

    def _watch(self, args, model):
        if self.hook is not None or not self.shapes or getattr(args, "torch_compile", False):
            return
        if getattr(model, "_compiled_call_impl", None) is not None:  # model.compile() would trace the hook
            return
        with harmless("print the batch shape", self.file):
            self.shapes = False  # unless the hook can be set
            with contextlib.suppress(AttributeError, TypeError):  # no model, or PyTorch before 2.0
                self.hook = model.register_forward_pre_hook(InputHook(self._see), with_kwargs=True)
                self.shapes = True

    def _unwatch(self):
        hook, self.hook = self.hook, None
        with harmless("remove the hook of the model", self.file):
            if hook is not None:
                hook.remove()
