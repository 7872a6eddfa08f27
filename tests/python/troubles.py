"""Everything that can be wrong around the package python/oomdoctor, one function each: it changes a training's world.

`says` is a text of the line that names the trouble, and `named` lists the places that print it. A trouble without a
line is one where there is nothing to name, or no stream to print it.
"""
import errno
import fcntl
import io
import os
import types
from unittest import mock

ALL = []
LOOPS = ("own_loop", "batch_lines", "hugging_face", "lightning")  # they see a batch in each step
GAUGES = ("own_loop", "hugging_face", "lightning")  # they print the memory of each step
SNAPSHOTS = ("snapshot_context", "lightning")
EVERYWHERE = (*LOOPS, "snapshot_context")


def trouble(says="(printed once)", named=()):
    def added(function):
        function.says, function.named = says, named
        ALL.append(function)
        return function
    return added


def raises(error):
    def raising(*args, **kwargs):
        raise error
    return raising


# Streams.


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


@trouble("OSError ENOSPC", EVERYWHERE)
def disk_full(world):
    world.file = Full()


@trouble("OSError ENOSPC", EVERYWHERE)
def disk_full_below_a_buffer(world):
    world.file = world.opened(open("/dev/full", "w", encoding="utf-8"))


@trouble("ValueError", EVERYWHERE)
def closed_stream(world):
    world.file = io.StringIO()
    world.file.close()


@trouble("BrokenPipeError EPIPE", EVERYWHERE)
def nobody_reads_the_pipe(world):
    read, write = os.pipe()
    os.close(read)
    world.file = world.opened(os.fdopen(write, "w"))


@trouble("BlockingIOError EAGAIN", EVERYWHERE)
def full_pipe_that_does_not_block(world):
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
    with open(os.dup(write), "wb", buffering=0) as filler:
        while filler.write(b" " * 4096):
            pass
    world.file = world.opened(os.fdopen(write, "w"))
    world.opened(os.fdopen(read))


@trouble("TypeError", EVERYWHERE)
def binary_stream(world):
    world.file = io.BytesIO()


@trouble("AttributeError", EVERYWHERE)
def path_in_place_of_a_stream(world):
    world.file = str(world.folder / "train.log")


@trouble("OSError EIO", EVERYWHERE)
def stream_that_cannot_flush(world):
    world.file = types.SimpleNamespace(write=len, flush=raises(OSError(errno.EIO, "Input/output error")))


@trouble()
def stream_without_flush(world):
    world.file = types.SimpleNamespace(write=world.out.write)


@trouble()
def no_standard_error(world):
    world.file = world.stderr = None


@trouble()
def both_streams_fail(world):
    world.file, world.stderr = Full(), Full()


@trouble()
def ascii_stream(world):
    world.file, world.words = io.TextIOWrapper(io.BytesIO(), encoding="ascii"), {"phase": "pr\u00fcf \udcff"}


@trouble()
def utf_16_stream(world):
    world.file, world.words = io.TextIOWrapper(io.BytesIO(), encoding="utf-16"), {"phase": "pr\u00fcf"}


# Steps and intervals.


def odd_step(value, says, named=LOOPS):
    def changed(world):
        world.step = lambda n: value
    changed.__name__ = f"step_{type(value).__name__}_{value!r:.20}"
    trouble(says, named)(changed)


class CudaNumber:
    def __int__(self):
        raise RuntimeError("CUDA error: device-side assert triggered")

    __add__ = __mod__ = __radd__ = lambda self, other: self

    def __repr__(self):
        return "on the GPU"


for value in (float("nan"), float("inf"), None, object(), "two", complex(1, 2), -3, 10**15, 10**4000):
    odd_step(value, "step")
odd_step(CudaNumber(), "RuntimeError in line")


def odd_interval(value):
    def changed(world):
        world.every = value
    changed.__name__ = f"every_{value!r}"
    trouble("every is not a number above 0: 10 replaces it", GAUGES)(changed)


for value in (0, -3, None, float("nan"), float("inf"), "often", []):
    odd_interval(value)


# Lengths and names.


@trouble("the sequence length", ("own_loop", "batch_lines"))
def length_that_is_no_number(world):
    world.words = {"sequence_length": float("nan")}


@trouble("RuntimeError in line", ("own_loop", "batch_lines"))
def length_on_a_gpu_that_failed(world):
    world.words = {"sequence_length": CudaNumber()}


@trouble("ValueError in line", ("own_loop", "batch_lines"))
def phase_without_a_text(world):
    world.words = {"phase": type("Phase", (), {"__str__": raises(ValueError("no text"))})()}


@trouble()
def phase_of_a_mebibyte(world):
    world.words = {"phase": "(\n\u2028" * 2**18}


def odd_rank(text):
    def changed(world):
        world.environment["RANK"] = text
    changed.__name__ = f"rank_{text:.10}"
    trouble()(changed)


for text in ("node1", "\u00b2", "-1", "9" * 5000, "1.5", " "):
    odd_rank(text)


# PyTorch.


def odd_torch(says, named=GAUGES):
    def added(function):
        def changed(world):
            world.torch = function(world.torch)
        changed.__name__ = "torch_" + function.__name__
        trouble(says, named)(changed)
        return function
    return added


@odd_torch("PyTorch is not imported", SNAPSHOTS)
def that_must_not_be_imported(torch):
    return None


@odd_torch("AttributeError", SNAPSHOTS)
def half_imported(torch):
    return types.ModuleType("torch")


@odd_torch("AttributeError", GAUGES + SNAPSHOTS)
def whose_cuda_is_half_imported(torch):
    return types.SimpleNamespace(cuda=types.ModuleType("torch.cuda"))


@odd_torch("ImportError in line", GAUGES + SNAPSHOTS)
def that_fails_to_load(torch):
    class Module(types.ModuleType):
        __getattr__ = raises(ImportError("libcudart.so.12: cannot open shared object file"))
    return Module("torch")


def odd_cuda(says, name, function):
    def changed(world):
        setattr(world.torch.cuda, name, function)
    changed.__name__ = f"torch_{name}_{says}"
    trouble(says, GAUGES)(changed)


CUDA_ERROR = RuntimeError("CUDA error: out of memory")
for function in ("is_initialized", "current_device", "memory_stats", "mem_get_info"):
    odd_cuda("RuntimeError in line", function, raises(CUDA_ERROR))
odd_cuda("KeyError", "memory_stats", lambda device: {})
odd_cuda("KeyError", "memory_stats", lambda device: {"allocated_bytes.all.current": 1})
odd_cuda("TypeError", "memory_stats", lambda device: None)
odd_cuda("a size in bytes is not a whole number", "memory_stats",
         lambda device: dict.fromkeys(("allocated_bytes.all.current", "reserved_bytes.all.current",
                                       "allocated_bytes.all.peak", "reserved_bytes.all.peak"), float("nan")))
odd_cuda("a size in bytes is negative", "mem_get_info", lambda device: (200, 100))
odd_cuda("ValueError", "mem_get_info", lambda device: (1, 2, 3))
odd_cuda("TypeError", "mem_get_info", lambda device: "ab")
odd_cuda("TypeError", "mem_get_info", lambda: (1, 2))
odd_cuda("the number of the GPU", "current_device", lambda: None)


# The host.


def odd_statm(says, opened, named=GAUGES):
    def changed(world):
        world.patches.append(mock.patch("oomdoctor.gauges.open", opened, create=True))
    changed.__name__ = f"statm_{says}"
    trouble(says, named)(changed)


odd_statm("OSError EMFILE in line", raises(OSError(errno.EMFILE, "Too many open files")))
odd_statm("PermissionError EACCES in line", raises(PermissionError(errno.EACCES, "Permission denied")))
odd_statm("(printed once)", raises(FileNotFoundError(errno.ENOENT, "no Linux")), ())
odd_statm("ValueError", lambda *args, **kwargs: io.StringIO("a b c"))
odd_statm("IndexError", lambda *args, **kwargs: io.StringIO(""))


# Snapshots.


@trouble("RuntimeError in line", SNAPSHOTS)
def history_that_cannot_be_read(world):
    world.torch._C._cuda_isHistoryEnabled = raises(RuntimeError("CUDA error: out of memory"))


@trouble("_record_memory_history", SNAPSHOTS)
def no_history(world):
    world.torch.history = False


@trouble("OSError ENOSPC in line", SNAPSHOTS)
def snapshot_on_a_full_disk(world):
    world.torch.snapshots = None


@trouble("FileNotFoundError ENOENT", SNAPSHOTS)
def folder_that_does_not_exist(world):
    world.snapshots = world.folder / "missing"


@trouble("cannot save a memory snapshot: TypeError", SNAPSHOTS)
def folder_that_is_no_path(world):
    world.snapshots = 3.5


@trouble("FileNotFoundError ENOENT", SNAPSHOTS)
def working_directory_that_is_gone(world):
    world.snapshots = None
    world.patches.append(mock.patch("os.getcwd", raises(FileNotFoundError(errno.ENOENT, "gone"))))
    world.patches.append(mock.patch("tempfile.mkstemp", raises(FileNotFoundError(errno.ENOENT, "gone"))))


@trouble("cannot read the exception", SNAPSHOTS)
def exception_without_a_text(world):
    world.error = type("Odd", (RuntimeError,), {"__str__": raises(ValueError("no text"))})()


@trouble()
def exception_that_ends_an_iteration(world):
    world.error = StopIteration("out of memory")


# Trainers.


@trouble()
def no_model(world):
    world.model = None


@trouble("RuntimeError in line", ("hugging_face",))
def model_that_refuses_hooks(world):
    world.model.register_forward_pre_hook = raises(RuntimeError("a compiled module has no hooks"))


@trouble("RuntimeError in line", ("hugging_face",))
def hook_that_cannot_be_removed(world):
    remove = types.SimpleNamespace(remove=raises(RuntimeError("no such hook")))
    world.model.register_forward_pre_hook = lambda hook, with_kwargs: remove


@trouble()
def model_that_is_compiled(world):
    world.model._compiled_call_impl = raises(AssertionError("the hook would be traced"))


@trouble()
def no_training_arguments(world):
    world.args = None


@trouble("cannot print the line of on_", ("hugging_face", "lightning"))
def trainer_without_a_step(world):
    class Stepless:
        @property
        def global_step(self):
            raise AttributeError("global_step")

        @global_step.setter
        def global_step(self, step):
            pass

    world.state = world.trainer = Stepless()
