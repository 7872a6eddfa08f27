"""Memory of one step in one line, and a memory snapshot when the GPU runs out of memory.

This module needs only the standard library. It uses PyTorch if the script has imported it.
"""
import contextlib
import os
import sys

MIB = 2**20

TRAINING_NAMES = ("train", "training")
EVALUATION_NAMES = ("eval", "evaluation", "val", "validation", "test", "predict", "prediction")
# Where a batch that is a dictionary has its tokens, its images or its features.
INPUT_NAMES = ("input_ids", "inputs_embeds", "pixel_values", "input_features", "input_values", "inputs", "x")


def log_memory(step, *, batch=None, sequence_length=None, phase=None, file=None, every=1):
    """Prints one line: the memory of this process and of its GPU at this step.

    Call it before the forward pass: the last line of the log then has the batch that did not fit.

    step: the number of the step; in an evaluation, the number of its batch.
    batch: the batch, a tensor of it, or its shape. The line then contains the shape.
    sequence_length: tokens of the longest sequence; without it, the length of the batch's "input_ids".
    phase: "evaluation" for batches that are no training steps, or a point within a step such as "before backward".
        oomdoctor keeps the values of each phase apart.
    file: a text stream; standard error if None, because tracebacks go there.
    every: prints only the steps that are a multiple of it.

    It does not synchronise with the GPU and never starts CUDA: before CUDA is in use, it prints host RAM alone.
    """
    if int(step) % max(int(every), 1) == 0:
        _write_step(step, phase, _device_parts() + _host_parts() + _batch_parts(batch, sequence_length), file)


def log_batch(step, batch, *, sequence_length=None, phase=None, file=None):
    """Prints one line with the shape of a batch alone. The arguments are those of log_memory()."""
    _write_step(step, phase, _batch_parts(batch, sequence_length), file)


@contextlib.contextmanager
def snapshot_on_oom(folder=None, *, file=None):
    """A context manager. If PyTorch runs out of memory inside, it saves a memory snapshot and raises the error again.

    folder: where the snapshot goes; the folder of `file` if that is a file on disk, else the working directory.
    file: the text stream for the line with the snapshot's path; standard error if None.
    """
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error):
            save_snapshot(folder, file=file)
        raise


def save_snapshot(folder=None, *, file=None):
    """Saves a memory snapshot and prints its path. Returns the path, or None if there is no snapshot.

    Without a recorded history, it saves nothing and prints how to record one. It raises no exception.
    """
    torch = sys.modules.get("torch")
    try:
        recorded = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: True)()
        if not recorded:
            _write("no memory snapshot: call torch.cuda.memory._record_memory_history(max_entries=100000) first", file)
            return None
        name = "memory_snapshot_rank%d_pid%d.pickle" % (_rank() or 0, os.getpid())
        path = os.path.abspath(os.path.join(_folder_of(file) if folder is None else folder, name))
        torch.cuda.memory._dump_snapshot(path)
    except Exception as error:  # the caller is about to raise the error that matters
        _write("no memory snapshot: %s: %s" % (type(error).__name__, _plain(error, 200)), file)
        return None
    _write("memory snapshot: %s (open it at https://pytorch.org/memory_viz)" % path, file)
    return path


def is_out_of_memory(error):
    """Whether PyTorch raised this exception because memory ran out. PyTorch before 1.13 has no class for it."""
    if any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and "out of memory" in str(error)


def describe_batch(batch):
    """The shape of a batch and its sequence length. Each is None if the batch does not show it.

    A batch is a tensor, a shape, or a dictionary, list or tuple with a tensor.
    """
    if isinstance(batch, (list, tuple)) and batch and all(type(size) is int for size in batch):
        return tuple(batch), None
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return tuple(int(size) for size in shape), None
    if hasattr(batch, "keys"):  # a dictionary, or BatchEncoding of transformers
        known = [name for name in INPUT_NAMES if name in batch]
        for name in known + list(batch.keys()):
            shape, length = describe_batch(batch[name])
            if shape:
                return shape, shape[-1] if name == "input_ids" and len(shape) > 1 else length
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            shape, length = describe_batch(value)
            if shape:
                return shape, length
    return None, None


def count_elements(shape):
    """The product of the extents; 0 without a shape."""
    count = 1 if shape else 0
    for extent in shape or ():
        count *= extent
    return count


def _write_step(step, phase, parts, file):
    head = "step %d" % int(step)
    phase = _plain(phase or "")
    if phase and phase not in TRAINING_NAMES:
        head += " (%s)" % ("evaluation" if phase in EVALUATION_NAMES else phase)
    if _rank() is not None:
        head += ", rank %d" % _rank()
    if parts:
        _write("%s: %s" % (head, ", ".join(parts)), file)


def _rank():
    rank = os.environ.get("RANK", "")  # torchrun and most launchers set it
    return int(rank) if rank.isdigit() else None


def _batch_parts(batch, sequence_length):
    shape, length = describe_batch(batch)
    length = length if sequence_length is None else sequence_length
    parts = ["batch " + "x".join(map(str, shape))] if shape else []
    return parts + (["sequence length %d" % int(length)] if length is not None else [])


def _device_parts():
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return []
    device = cuda.current_device()
    stats = cuda.memory_stats(device)  # one call for all four figures
    figures = (("allocated", "allocated_bytes.all.current"), ("reserved", "reserved_bytes.all.current"),
               ("max allocated", "allocated_bytes.all.peak"), ("max reserved", "reserved_bytes.all.peak"))
    parts = ["GPU %d" % device] + ["%s %s" % (name, _mib(stats.get(key, 0))) for name, key in figures]
    if hasattr(cuda, "mem_get_info"):  # PyTorch 1.11
        free, total = cuda.mem_get_info(device)
        parts.append("used %s of %s" % (_mib(total - free), _mib(total)))
    return [" ".join(parts[:2])] + parts[2:]


def _host_parts():
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
        return ["host RSS " + _mib(pages * os.sysconf("SC_PAGE_SIZE"))]
    except (OSError, ValueError, IndexError):  # no Linux
        return []


def _mib(count):
    return "%.2f MiB" % (count / MIB)


def _plain(text, limit=40):
    """One line without the characters that end a phase in the printed form."""
    return "".join(c if c.isprintable() and c not in "()" else " " for c in str(text))[:limit].strip()


def _folder_of(file):
    name = getattr(file, "name", None)
    return os.path.dirname(os.path.abspath(name)) if isinstance(name, str) and os.path.isfile(name) else os.curdir


def _write(text, file):
    file = sys.stderr if file is None else file
    file.write("[oomdoctor] %s\n" % text)  # one write, so that lines of several ranks do not mix
    file.flush()
