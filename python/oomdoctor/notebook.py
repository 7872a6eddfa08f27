"""oomdoctor in IPython and Jupyter: %load_ext oomdoctor. The report follows the traceback of a cell."""
import shlex
import sys

from oomdoctor import hooks
from oomdoctor.api import analyze
from oomdoctor.gauges import cuda_in_use, describe_bytes, read_host_bytes
from oomdoctor.harmless import harmless
from oomdoctor.program import Error


class CellFailed(Exception):
    """Ends a cell whose error is already printed, so that a notebook that runs all cells stops there."""

    def _render_traceback_(self):
        return []


def load_ipython_extension(shell):
    """Called by %load_ext oomdoctor: install(), %oomdoctor LOG and %%oomdoctor."""
    with harmless("load the extension"):
        hooks.install(**hooks.options)
        shell.register_magic_function(report_on_logs, "line", "oomdoctor")
        shell.register_magic_function(run_cell, "cell", "oomdoctor")


def unload_ipython_extension(shell):
    """Called by %unload_ext oomdoctor."""
    hooks.uninstall()


def watch_cells():
    """Reports after each cell, if this process runs IPython."""
    with harmless("install the report in IPython"):
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None:
            unwatch_cells()
            shell.events.register("post_run_cell", _after_cell)


def unwatch_cells():
    with harmless("remove the report from IPython"):
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and _after_cell in shell.events.callbacks["post_run_cell"]:
            shell.events.unregister("post_run_cell", _after_cell)


def report_on_logs(line):
    """%oomdoctor LOG...: the report on logs."""
    with harmless("report on the logs"):
        try:
            return analyze(shlex.split(line))
        except Error as error:
            print("no report: %s" % error, file=sys.stderr)
    return None


def run_cell(line, cell):
    """%%oomdoctor: runs the cell, and prints the memory that it took and kept."""
    before = None, 0
    with harmless("read the memory before a cell"):
        before = _use_before()
    result = sys.modules["IPython"].get_ipython().run_cell(cell)
    with harmless("print the memory of a cell"):
        print("[oomdoctor] cell: " + "; ".join(_changes(before)), file=sys.stderr)
    if not result.success:
        raise CellFailed from None


def _after_cell(result):
    error = result.error_in_exec
    if error is not None:
        hooks.report_failure(error)


def _use_before():
    memory = cuda_in_use()
    if memory is not None:
        memory.reset_peak_memory_stats()
    return read_host_bytes(), 0 if memory is None else memory.memory_allocated()


def _changes(before):
    host, allocated = before
    memory, host_now = cuda_in_use(), read_host_bytes()
    if memory is not None:
        yield "GPU %d tensors %s → %s, peak %s" % (
            memory.current_device(), describe_bytes(allocated), describe_bytes(memory.memory_allocated()),
            describe_bytes(memory.max_memory_allocated()))
    if host is not None and host_now is not None:
        yield "host RSS %s → %s" % (describe_bytes(host), describe_bytes(host_now))
