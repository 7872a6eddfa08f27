"""Memory of one step in one line, and a memory snapshot when the GPU runs out of memory.

This module needs only the standard library. It uses PyTorch if the script has imported it. It raises no exception: see
oomdoctor.harmless.
"""
import contextlib
import itertools
import numbers
import os
import sys
import tempfile

from oomdoctor.gauges import MIB, cuda_in_use, read_host_bytes
from oomdoctor.harmless import Unprintable, harmless, name_trouble, reason, whole_number, write_line

DEFAULT_INTERVAL = 10  # steps

TRAINING_NAMES = ("train", "training")
EVALUATION_NAMES = ("eval", "evaluation", "val", "validation", "test", "predict", "prediction")
# Where a batch that is a dictionary has its tokens, its images or its features.
INPUT_NAMES = ("input_ids", "inputs_embeds", "pixel_values", "input_features", "input_values", "inputs", "x")
# The search for a tensor in a batch ends at these limits, so that it costs no step a noticeable time.
MAX_LEVELS = 8
MAX_VALUES = 256  # in all levels
MAX_KEYS = 64  # of one dictionary
MAX_ELEMENTS = 16  # of one list
MAX_EXTENTS = 64  # of a shape, as in PyTorch and NumPy

_own_snapshots = set()  # paths that this process made, and so may replace


def log_memory(step, *, batch=None, sequence_length=None, phase=None, file=None, every=1):
    """Prints one line: the memory of this process and of its GPU at this step.

    Call it before the forward pass: the last line of the log then has the batch that did not fit.

    step: the number of the step; in an evaluation, the number of its batch.
    batch: the batch, a tensor of it, or its shape. The line then contains the shape.
    sequence_length: tokens of the longest sequence; without it, the length of the batch's "input_ids".
    phase: "evaluation" for batches that are no training steps, or a point within a step such as "before backward".
        oomdoctor keeps the values of each phase apart.
    file: a text stream; standard error if None, because tracebacks go there.
    every: prints only the steps that are a multiple of it; 10 if it is not a number above 0.

    It does not synchronise with the GPU and never starts CUDA: before CUDA is in use, it prints host RAM alone.
    """
    with harmless("print the memory of a step", file):
        if is_due(step, every, file=file):
            _write_step(step, phase, _device_parts(file) + _host_parts(file) +
                        _batch_parts(batch, sequence_length, file), file)


def log_batch(step, batch, *, sequence_length=None, phase=None, file=None):
    """Prints one line with the shape of a batch alone. The arguments are those of log_memory()."""
    with harmless("print the batch of a step", file):
        _write_step(step, phase, _batch_parts(batch, sequence_length, file), file)


def is_due(step, every, *, file=None):
    """Whether a step is a multiple of the interval `every`."""
    try:
        interval = int(every)
    except (OverflowError, TypeError, ValueError):
        interval = 0
    if interval < 1:
        name_trouble("every", "every is not a number above 0: %d replaces it" % DEFAULT_INTERVAL, file)
        interval = DEFAULT_INTERVAL
    return whole_number(step, "the step") % interval == 0


def snapshot_on_oom(folder=None, *, file=None):
    """A context manager. If PyTorch runs out of memory inside, it saves a memory snapshot. The error passes unchanged.

    folder: where the snapshot goes; the folder of `file` if that is a file on disk, else the working directory.
    file: the text stream for the line with the snapshot's path; standard error if None.
    """
    return _SnapshotOnOom(folder, file)


class _SnapshotOnOom(contextlib.ContextDecorator):
    """It catches no exception, because a caught one is raised again with more frames."""

    def __init__(self, folder, file):
        self.folder, self.file = folder, file

    def __enter__(self):
        return None

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception) and is_out_of_memory(error):
            save_snapshot(self.folder, file=self.file)
        return False


def save_snapshot(folder=None, *, file=None):
    """Saves a memory snapshot and prints its path. Returns the path, or None if there is no snapshot.

    Without a recorded history, it saves nothing and prints how to record one. It replaces an earlier snapshot of this
    process, but no other file.
    """
    path = None
    with harmless("save a memory snapshot", file):
        if sys.modules.get("torch") is None:
            raise Unprintable("PyTorch is not imported")
        if not records_history():
            name_trouble("history", "no memory snapshot: call torch.cuda.memory._record_memory_history("
                         "max_entries=100000) first", file)
            return None
        path = dump_snapshot(_folder_of(file) if folder is None else folder)
    with harmless("print the path of the memory snapshot", file):
        if path is not None:
            write_line("memory snapshot: %s (open it at https://pytorch.org/memory_viz)" % path, file)
    return path


def records_history():
    """Whether PyTorch records the history of its allocator. Versions that do not say so may record one; 1.13 and older
    cannot save it."""
    if not hasattr(sys.modules["torch"].cuda.memory, "_dump_snapshot"):
        return False
    return getattr(sys.modules["torch"]._C, "_cuda_isHistoryEnabled", lambda: True)()


def is_out_of_memory(error):
    """Whether PyTorch raised this exception because memory ran out. PyTorch before 1.13 has no class for it."""
    with harmless("read the exception"):
        if any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
            return True
        return isinstance(error, RuntimeError) and "out of memory" in str(error)
    return False


def describe_batch(batch, *, file=None):
    """The shape of a batch and its sequence length. Each is None if the batch does not show it.

    A batch is a tensor, a shape, or a dictionary, list or tuple with a tensor.
    """
    with harmless("print the batch shape", file):
        if isinstance(batch, (list, tuple)) and 0 < len(batch) <= MAX_EXTENTS and all(map(_is_extent, batch)):
            return tuple(map(int, batch)), None
        search = _BatchSearch(file)
        found = search.first_shape(batch)
        if found[0] is None and search.is_cut:
            raise Unprintable("the first %d values and %d levels have no tensor" % (MAX_VALUES, MAX_LEVELS))
        return found
    return None, None


def count_elements(shape):
    """The product of the extents; 0 without a shape."""
    count = 1 if shape else 0
    for extent in shape or ():
        count *= extent
    return count


class _BatchSearch:
    """The first tensor of a batch. One value that cannot be read costs only itself."""

    def __init__(self, file):
        self.file, self.values, self.is_cut = file, 0, False

    def first_shape(self, batch, level=0):
        self.values += 1
        if self.values > MAX_VALUES or level > MAX_LEVELS:
            self.is_cut = True
            return None, None
        shape = getattr(batch, "shape", None)
        if shape is not None:
            return _extents(shape), None
        if hasattr(batch, "keys"):  # a dictionary, or BatchEncoding of transformers
            names = [name for name in INPUT_NAMES if name in batch]
            for name in itertools.chain(names, list(itertools.islice(batch.keys(), MAX_KEYS))):
                shape, length = self.shape_of_element(batch, name, level)
                if shape:
                    return shape, shape[-1] if name == "input_ids" and len(shape) > 1 else length
        elif isinstance(batch, (list, tuple)):
            for index in range(min(len(batch), MAX_ELEMENTS)):
                shape, length = self.shape_of_element(batch, index, level)
                if shape:
                    return shape, length
        return None, None

    def shape_of_element(self, batch, name, level):
        with harmless("print the batch shape", self.file):
            return self.first_shape(batch[name], level + 1)
        return None, None


def _extents(shape):
    """The extents of a tensor. Symbolic ones stay unread, because int() of them would change what a compiler traces."""
    extents = tuple(itertools.islice(shape, MAX_EXTENTS + 1))
    if len(extents) > MAX_EXTENTS or not all(map(_is_extent, extents)):
        raise Unprintable("the shape has an unknown extent or more than %d" % MAX_EXTENTS)
    return tuple(map(int, extents))


def _is_extent(size):
    return (type(size) is int or isinstance(size, numbers.Integral) and type(size) is not bool) and 0 <= size < 10**15


def _write_step(step, phase, parts, file):
    head = "step %d" % whole_number(step, "the step")
    phase = "" if phase is None else _plain(phase)
    if phase and phase not in TRAINING_NAMES:
        head += " (%s)" % ("evaluation" if phase in EVALUATION_NAMES else phase)
    rank = _rank()
    if rank is not None:
        head += ", rank %d" % rank
    if parts:
        write_line("%s: %s" % (head, ", ".join(parts)), file)


def _rank():
    rank = os.environ.get("RANK", "")  # torchrun and most launchers set it
    return int(rank) if rank.isascii() and rank.isdigit() and len(rank) <= 6 else None


def _batch_parts(batch, sequence_length, file):
    shape, length = describe_batch(batch, file=file)
    parts = ["batch " + "x".join(map(str, shape))] if shape else []
    with harmless("print the sequence length", file):
        length = length if sequence_length is None else whole_number(sequence_length, "the sequence length")
        if length is not None:
            parts.append("sequence length %d" % length)
    return parts


def _device_parts(file):
    parts = []
    with harmless("print the memory of the GPU", file):
        cuda = cuda_in_use()
        if cuda is None:
            return []
        device = whole_number(cuda.current_device(), "the number of the GPU")
        parts += _allocator_parts(cuda, device, file)
        with harmless("print the use of the GPU", file):
            if hasattr(cuda, "mem_get_info"):  # PyTorch 1.11
                free, total = cuda.mem_get_info(device)
                parts.append("used %s of %s" % (_mib(total - free), _mib(total)))
        if parts:
            parts[0] = "GPU %d %s" % (device, parts[0])
    return parts


def _allocator_parts(cuda, device, file):
    parts = []
    with harmless("print the memory of PyTorch", file):
        stats = cuda.memory_stats(device)  # one call for all four figures
        for name, key in (("allocated", "allocated_bytes.all.current"), ("reserved", "reserved_bytes.all.current"),
                          ("max allocated", "allocated_bytes.all.peak"), ("max reserved", "reserved_bytes.all.peak")):
            with harmless("print the memory of PyTorch", file):
                parts.append("%s %s" % (name, _mib(stats[key])))
    return parts


def _host_parts(file):
    with harmless("print the host RAM", file):
        used = read_host_bytes()
        return [] if used is None else ["host RSS " + _mib(used)]
    return []


def _mib(count):
    return "%.2f MiB" % (whole_number(count, "a size in bytes") / MIB)


def _plain(text):
    """One line of 40 characters without those that end a phase in the printed form."""
    return "".join(c if c.isprintable() and c not in "()" else " " for c in str(text)[:40]).strip()


def _folder_of(file):
    name = getattr(file, "name", None)
    return os.path.dirname(os.path.abspath(name)) if isinstance(name, str) and os.path.isfile(name) else os.curdir


def dump_snapshot(folder):
    """The path of a new memory snapshot. It replaces no file but an earlier one of this process, and exists only if
    complete."""
    name = "memory_snapshot_rank%d_pid%d" % (_rank() or 0, os.getpid())
    file, part = tempfile.mkstemp(".part", name + ".", folder)
    os.close(file)
    try:
        sys.modules["torch"].cuda.memory._dump_snapshot(part)
        path = _own_path(os.path.join(os.path.dirname(part), name))
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
    return path


def _own_path(stem):
    for number in range(1, 100):
        path = "%s%s.pickle" % (stem, "" if number == 1 else "_%d" % number)
        if path in _own_snapshots:
            return path
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            _own_snapshots.add(path)
            return path
    raise Unprintable("99 snapshots of other processes have its name")
