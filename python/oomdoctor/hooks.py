"""The report under the traceback of an error that memory caused, in scripts and threads. oomdoctor.notebook adds IPython.

Nothing here raises into the program: a part that fails is missing, and a line names it, as in oomdoctor.harmless.
"""
import contextlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import threading
import traceback

from oomdoctor.gauges import cuda_in_use, describe_bytes
from oomdoctor.harmless import harmless, name_trouble, recent_lines, write_line, write_text
from oomdoctor.program import Error, first_line, run_program
from oomdoctor.torch import dump_snapshot, is_out_of_memory, records_history, save_snapshot

REPORT_TIMEOUT = 30.0  # seconds; a process that failed must not wait long for its report
MAX_ENTRIES = 100000  # of the allocator's history: the newest ones; the number of PyTorch's own guide
MAX_LINKS = 20  # of a chain of exceptions
NO_FAILURE, FAILURE, UNRECOGNISED = 0, 1, 2  # the program's status by what the log shows
VERDICT = "OUT OF MEMORY"  # in each report on a failure

# Errors that may be about memory; the program decides. This spares others the time of a run of it.
MAY_BE_MEMORY = re.compile(r"memory|alloc|RESOURCE_?EXHAUSTED|\bOOM\b", re.IGNORECASE)
NAMES_GPU = re.compile(r"\bGPU (\d{1,3})\b")  # in PyTorch's message
# What the report cites or offers of a log, which here is not a file that the user has.
OF_LOG = re.compile(r"^.*--> .*<stdin>:.*\n| *[(\[](?:<stdin>:|lines? )\d[^)\]\n]*[)\]]|-v shows [^;─\n]*; "
                    r"| -v shows [^;─\n]* (?=─)", re.MULTILINE)
HISTORY = "the allocator's history"
RUNNERS = ("runpy", "IPython.core.interactiveshell")  # their frames are around the user's code

options = {"snapshot": False, "free": True}  # of the last call of install()
trims = []  # not empty: python -m oomdoctor runs the script, so the traceback begins with frames of it


def install(*, snapshot=False, free=True):
    """From now on, an out-of-memory error prints the short report under its traceback.

    It works in scripts, in their threads, and in IPython and Jupyter. Hooks that are there already run first.

    snapshot: also records the history of PyTorch's allocator, and saves a memory snapshot at the failure. The history
        has at most 100,000 entries.
    free: after the report, clears the local variables of the functions in the traceback. They would keep their tensors
        until the next error. A debugger started later no longer sees them.
    """
    with harmless("install the report"):
        options.update(snapshot=bool(snapshot), free=bool(free))
        if not isinstance(sys.excepthook, _Hook):
            sys.excepthook = _Hook(sys.excepthook, sys.__excepthook__)
        if not isinstance(threading.excepthook, _Hook):
            threading.excepthook = _Hook(threading.excepthook, _ignore)
        if snapshot:
            _when_torch_is_imported(_record_history)
        if "IPython" in sys.modules:
            from oomdoctor import notebook
            notebook.watch_cells()


def uninstall():
    """Removes the hooks of install(), except those that another hook has taken over."""
    with harmless("remove the report"):
        for owner in (sys, threading):
            if isinstance(owner.excepthook, _Hook):
                owner.excepthook = owner.excepthook.previous
        for finder in list(sys.meta_path):
            if isinstance(finder, _AfterImport):
                sys.meta_path.remove(finder)
        if "oomdoctor.notebook" in sys.modules:
            sys.modules["oomdoctor.notebook"].unwatch_cells()


class _Hook:
    """An excepthook of sys or threading: calls the one that was there before, then prints the report."""

    def __init__(self, previous, default):
        self.previous, self.default, self.running = previous, default, threading.local()

    def __call__(self, *args):
        if getattr(self.running, "now", False):  # the one before calls sys.excepthook
            return self.default(*args)
        self.running.now = True
        error = None
        try:
            with harmless("trim the traceback"):
                error = args[1] if len(args) == 3 else args[0].exc_value
                if trims and len(args) == 3:
                    args = (args[0], error.with_traceback(user_trace(args[2])), user_trace(args[2]))
            self.previous(*args)
        finally:
            try:
                report_failure(error)
            finally:
                self.running.now = False


def _ignore(args):
    """Of a thread whose hook calls itself."""


def report_failure(error):
    """Prints the short report if memory caused the error: once for each error."""
    with contextlib.suppress(KeyboardInterrupt), harmless("report the failure"):
        if not may_be_memory(error) or getattr(error, "_oomdoctor_reported", False):
            return
        error._oomdoctor_reported = True
        text = report_on(error, for_terminal=sys.stderr is not None and sys.stderr.isatty())
        if text:
            write_text("\n%s\n" % text.rstrip(), None)
            recent_lines.clear()  # the next failure is another run's
        if options["free"] and (text or is_out_of_memory(error)):
            free_traceback(error)


def report_on(error, for_terminal=False):
    """The short report on an error; "" if it is not a memory failure, or if there is no report."""
    with contextlib.ExitStack() as files:
        snapshot = _snapshot(files)
        words = ["analyze", "--color=%s" % ("always" if for_terminal and "NO_COLOR" not in os.environ else "never")]
        if for_terminal:
            words.append("--width=%d" % shutil.get_terminal_size((100, 24)).columns)
        words += ["-"] + ([snapshot] if snapshot else [])
        try:
            status, output, errors = run_program(words, text=log_of(error), timeout=REPORT_TIMEOUT)
            text = output.decode("utf-8", "replace")
            if status == FAILURE and VERDICT in text:
                text = OF_LOG.sub("", text)
                if snapshot and not options["snapshot"]:  # its file is gone when somebody reads this
                    text = text.replace(snapshot, HISTORY).replace(os.path.basename(snapshot), HISTORY)
                return text
            if status != NO_FAILURE and not (status == UNRECOGNISED and text):
                raise Error(first_line(errors) or "the program ended with status %d and no report" % status)
        except Error as why:
            name_trouble("report", "no report on this error: %s" % why, None)
    return ""


def log_of(error):
    """What the process knows, as the log that oomdoctor reads: its memory lines, the allocator's table, the traceback."""
    parts = list(recent_lines)
    with harmless("read the allocator's table"):
        memory = cuda_in_use()
        if hasattr(memory, "memory_summary"):
            named = NAMES_GPU.search(" ".join(map(str, _chain(error))))
            parts.append(memory.memory_summary(int(named[1]) if named else None).rstrip() + "\n")
    parts += traceback.format_exception(type(error), error, user_trace(error.__traceback__))
    return "".join(parts).encode("utf-8", "backslashreplace")


def free_traceback(error):
    """Clears the functions of a traceback, and names what this freed."""
    before = _allocated()
    for link in _chain(error):
        traceback.clear_frames(link.__traceback__)
        for frame, _ in traceback.walk_tb(link.__traceback__):
            frame.f_locals  # a debugger or IPython has read it: reading empties the copy that Python before 3.13 keeps
    freed = (before or 0) - (_allocated() or 0)
    if freed > 0:
        write_line("the traceback kept %s of tensors on the GPU; they are free now" % describe_bytes(freed), None)


def user_trace(trace):
    """The traceback without the frames that run the script or the cell."""
    while trace is not None and trace.tb_next is not None and _is_runner(trace.tb_frame.f_globals):
        trace = trace.tb_next
    return trace


def _is_runner(names):
    return names.get("__name__") in RUNNERS or names.get("__package__") == __package__


def _chain(error):
    """The error and those that it came from or groups, as a traceback prints them."""
    links, waiting = [], [error]
    while waiting and len(links) < MAX_LINKS:
        link = waiting.pop()
        if isinstance(link, BaseException) and all(link is not other for other in links):
            links.append(link)
            waiting += [link.__cause__, None if link.__suppress_context__ else link.__context__]
            waiting += getattr(link, "exceptions", ())[:MAX_LINKS]
    return links


def may_be_memory(error):
    return isinstance(error, Exception) and any(
        MAY_BE_MEMORY.search("%s: %s" % (type(link).__name__, link)) for link in _chain(error))


def _allocated():
    with harmless("read the memory of PyTorch"):
        memory = cuda_in_use()
        return None if memory is None else memory.memory_allocated()
    return None


def _snapshot(files):
    """The path of a memory snapshot where a history is recorded, else None. `files` removes one that nobody requested."""
    with harmless("save a memory snapshot"):
        if cuda_in_use() is None or not records_history():
            return None
        if options["snapshot"]:
            return save_snapshot()
        return dump_snapshot(files.enter_context(tempfile.TemporaryDirectory(prefix="oomdoctor-")))
    return None


def _record_history():
    """As soon as the program starts CUDA. Earlier would start it, and its forked processes could then not use it."""
    with harmless("record the history of the allocator"):
        memory = sys.modules["torch"].cuda
        memory._lazy_call(_start_recording)


def _start_recording():
    with harmless("record the history of the allocator (PyTorch 2.1 can)"):
        sys.modules["torch"].cuda.memory._record_memory_history(max_entries=MAX_ENTRIES, stacks="python")


class _AfterImport:
    """A finder that runs an action after the program has imported a module, and is then gone."""

    def __init__(self, name, action):
        self.name, self.action = name, action

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        with harmless("wait for the import of %s" % name):
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:  # not installed: a later import may find it
                sys.meta_path.insert(0, self)
                return None
            run = spec.loader.exec_module

            def run_and_act(module):
                run(module)
                with harmless("act after the import of %s" % name):
                    self.action()

            spec.loader.exec_module = run_and_act
            return spec
        return None


def _when_torch_is_imported(action):
    if sys.modules.get("torch") is not None:
        action()
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport("torch", action))
