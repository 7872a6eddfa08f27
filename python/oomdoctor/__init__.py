"""oomdoctor finds out why a training ran out of memory, and what to do.

    analyze(log)         the Report on a log, as `oomdoctor analyze` prints it
    estimate(...)        the MemoryEstimate of a run before it starts
    install()            prints the report under the traceback of an out-of-memory error
    python -m oomdoctor  runs a script with install(), without a change to it
    %load_ext oomdoctor  the same for a notebook, with %oomdoctor and %%oomdoctor
    oomdoctor.pytest     a plugin for pytest: limits and leaks of tests

    oomdoctor.torch      log_memory() and snapshot_on_oom() for your own loop
    oomdoctor.hf         MemoryCallback for the Trainer of transformers
    oomdoctor.lightning  MemoryCallback for the Trainer of Lightning

Importing this package imports nothing else: each name is loaded when it is first used.
"""
import importlib

_PLACES = {"analyze": "api", "estimate": "api", "Error": "program", "Report": "report_types",
           "MemoryEstimate": "estimate_types", "install": "hooks", "uninstall": "hooks",
           "load_ipython_extension": "notebook", "unload_ipython_extension": "notebook"}
__all__ = list(_PLACES)

TYPE_CHECKING = False  # for type checkers, as in typing
if TYPE_CHECKING:
    from oomdoctor.api import analyze, estimate
    from oomdoctor.estimate_types import MemoryEstimate
    from oomdoctor.hooks import install, uninstall
    from oomdoctor.notebook import load_ipython_extension, unload_ipython_extension
    from oomdoctor.program import Error
    from oomdoctor.report_types import Report


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError("module 'oomdoctor' has no attribute %r" % name)
    value = globals()[name] = getattr(importlib.import_module("oomdoctor." + _PLACES[name]), name)
    return value


def __dir__():
    return sorted([*globals(), *_PLACES])
