"""A callback for the Trainer of Lightning: Trainer(..., callbacks=[MemoryCallback()])."""
import sys

from oomdoctor.harmless import harmless_hook
from oomdoctor.torch import count_elements, describe_batch, is_out_of_memory, log_batch, log_memory, save_snapshot

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback  # both may be installed: the script uses this one
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

__all__ = ["MemoryCallback"]


class MemoryCallback(Callback):
    """Prints the memory after every `every`-th step, and after every `every`-th batch of an evaluation.

    It prints the shape of a training batch before its step if it is the largest so far: a batch that does not fit
    never reaches the end of its step. When the GPU runs out of memory, it saves a memory snapshot, if the script
    records a history.

    every: 10 by default, which keeps a log of 10,000 steps under 300 kB. What is not a number above 0 counts as 10.
    folder: where the snapshot goes; None: see oomdoctor.torch.snapshot_on_oom().
    file: a text stream; standard error if None. A copy of the callback prints to standard error.
    """

    def __init__(self, every=10, *, folder=None, file=None):
        super().__init__()
        self.every, self.folder, self.file = every, folder, file
        self.last_step, self.largest = None, 0  # the largest batch so far, in elements

    def __getstate__(self):
        return {**self.__dict__, "file": None}  # a stream has no copy

    @harmless_hook
    def on_train_start(self, trainer, pl_module):
        self.last_step = trainer.global_step
        log_memory(self.last_step, phase="before training", file=self.file)

    @harmless_hook
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx, *unused):
        shape, length = describe_batch(batch, file=self.file)
        if count_elements(shape) > self.largest:
            self.largest = count_elements(shape)
            log_batch(trainer.global_step + 1, shape, sequence_length=length, file=self.file)

    # Lightning before 1.7 passes more arguments; Lightning 2 has a default for dataloader_idx.
    @harmless_hook
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, *unused):
        step = trainer.global_step  # with accumulated gradients, several batches have the same step
        if step != self.last_step:
            log_memory(step, batch=batch, file=self.file, every=self.every)
        self.last_step = step

    @harmless_hook
    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        log_memory(batch_idx + 1, batch=batch, phase="evaluation", file=self.file, every=self.every)

    @harmless_hook
    def on_test_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        log_memory(batch_idx + 1, batch=batch, phase="evaluation", file=self.file, every=self.every)

    @harmless_hook
    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        log_memory(batch_idx + 1, batch=batch, phase="evaluation", file=self.file, every=self.every)

    @harmless_hook
    def on_exception(self, trainer, pl_module, exception):
        if is_out_of_memory(exception):
            save_snapshot(self.folder, file=self.file)
