"""A callback for the Trainer of transformers: Trainer(..., callbacks=[MemoryCallback()]).

The Trainer reports no exceptions to its callbacks. For a snapshot, put the call of train() into snapshot_on_oom():

    with snapshot_on_oom():
        trainer.train()
"""
from transformers import TrainerCallback

from oomdoctor.torch import count_elements, describe_batch, log_batch, log_memory, snapshot_on_oom

__all__ = ["MemoryCallback", "snapshot_on_oom"]


class LargestInput:
    """A forward pre-hook that keeps the largest batch since the last line: callbacks do not receive the batch."""

    def __init__(self, report=None):
        self.report = report  # called with each batch: its size, shape and sequence length
        self.shape = self.length = None
        self.size = 0

    def __reduce__(self):
        return LargestInput, ()  # a copy of the model copies its hooks, and must not copy a stream with them

    def __call__(self, module, args, kwargs):
        shape, length = describe_batch(kwargs or list(args))
        size = count_elements(shape)
        if size > self.size:
            self.shape, self.length, self.size = shape, length, size
        if self.report is not None:
            self.report(size, shape, length)

    def take(self):
        """The arguments of log_memory() for the largest batch."""
        taken = {"batch": self.shape, "sequence_length": self.length}
        self.shape, self.length, self.size = None, None, 0
        return taken


class MemoryCallback(TrainerCallback):
    """Prints the memory after every `every`-th update step, and after every `every`-th batch of an evaluation.

    It prints the shape of a training batch before the forward pass if it is the largest so far: a batch that does not
    fit comes to no end of its step.

    every: 10 by default, which keeps a log of 10,000 steps under 300 kB.
    shapes: prints the shape of the largest batch since the last line. This needs PyTorch 2.0. The callback does it by a
        hook on the model, and leaves it out if the training arguments have torch_compile=True.
    file: a text stream; standard error if None.
    """

    def __init__(self, every=10, *, shapes=True, file=None):
        self.every, self.shapes, self.file = every, shapes, file
        self.inputs, self.hook = LargestInput(self._report), None
        self.trains, self.prediction_batch = False, 0
        self.step, self.largest = None, 0  # the step that runs now, and the elements of its largest batch so far

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.trains = True
        self._watch(args, model)
        log_memory(state.global_step, phase="before training", file=self.file)

    def on_step_begin(self, args, state, control, **kwargs):
        self.step = state.global_step + 1

    def on_step_end(self, args, state, control, **kwargs):
        self.step = None
        if state.global_step % self.every == 0:
            log_memory(state.global_step, file=self.file, **self.inputs.take())

    def on_prediction_step(self, args, state, control, model=None, **kwargs):
        self._watch(args, model)
        if self.prediction_batch == 0:
            self.inputs.take()  # a batch of the training before
        self.prediction_batch += 1
        if self.prediction_batch % self.every == 0:
            log_memory(self.prediction_batch, phase="evaluation", file=self.file, **self.inputs.take())

    def on_evaluate(self, args, state, control, **kwargs):
        self._end_evaluation()

    def on_predict(self, args, state, control, metrics=None, **kwargs):
        self._end_evaluation()

    def on_train_end(self, args, state, control, **kwargs):
        self.trains = False
        self._unwatch()

    def _end_evaluation(self):
        self.prediction_batch = 0
        self.inputs.take()
        if not self.trains:
            self._unwatch()

    def _report(self, size, shape, length):
        if self.step is not None and size > self.largest:
            self.largest = size
            log_batch(self.step, shape, sequence_length=length, file=self.file)

    def _watch(self, args, model):
        if self.hook is not None or not self.shapes or getattr(args, "torch_compile", False):
            return
        try:
            self.hook = model.register_forward_pre_hook(self.inputs, with_kwargs=True)
        except (AttributeError, TypeError):  # no model, or PyTorch before 2.0
            self.shapes = False

    def _unwatch(self):
        if self.hook is not None:
            self.hook.remove()
        self.hook = None
