"""Raises an exception where a function of the package begins: at the first call of the nth one, of all files or of one, in any
thread. Left out are those that the interpreter, IPython or pytest calls, and the guard itself: nothing of the package is around them.
"""
import os
import pathlib
import sys
import threading

PACKAGE = os.path.join(os.sep, "python", "oomdoctor", "")
OUTERMOST = {"__getattr__", "__init__", "__call__", "__enter__", "__exit__", "main", "install", "report_failure", "load_ipython_extension",
             "run_cell", "_after_cell", "repeated"}
OF_FUNCTION = 0x02  # in a code's flags: neither a module nor the body of a class
TEXT = "INJECTED"


def start(number, file, report):
    """`file`: its name, "" for all. `report`: the file for the name of the function."""
    seen = set()

    def look(frame, event, _):
        code = frame.f_code
        if (event != "call" or PACKAGE + file not in code.co_filename or not code.co_flags & OF_FUNCTION or
                code.co_name in OUTERMOST or code.co_name.startswith("pytest_")):
            return
        seen.add(code)
        if len(seen) == number:
            sys.settrace(None)
            pathlib.Path(report).write_text(code.co_name)
            raise RuntimeError(TEXT)

    sys.settrace(look)
    threading.settrace(look)


if "INJECTION" in os.environ:
    start(int(os.environ["INJECTION"]), os.environ["INJECTION_FILE"], os.environ["INJECTION_REPORT"])
