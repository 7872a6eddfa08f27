"""python -m oomdoctor [--snapshot] SCRIPT [ARGUMENT...], or -m MODULE instead of SCRIPT.

Runs a script as Python does, with oomdoctor.install(): an out-of-memory error prints the report under its traceback.
--snapshot also records the history of PyTorch's allocator, and saves a memory snapshot at the failure.
"""
import importlib.machinery
import io
import os
import runpy
import sys
import types

from oomdoctor import hooks

WRONG_USE = 2


def main(words):
    snapshot = words[:1] == ["--snapshot"]
    words = words[snapshot:]
    is_module = words[:1] == ["-m"]
    words = words[is_module:]
    if not words or words[0].startswith("-"):
        print(__doc__.strip(), file=sys.stdout if words[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if words[:1] in (["-h"], ["--help"]) else WRONG_USE
    hooks.install(snapshot=snapshot)
    hooks.trims.append(True)
    sys.argv = words
    if is_module:  # the working directory is already the first of sys.path
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        return 0
    try:
        with io.open_code(os.path.abspath(words[0])) as file:
            source = file.read()
    except OSError as error:
        print("oomdoctor: cannot open %r: %s" % (words[0], error.strerror), file=sys.stderr)
        return WRONG_USE
    if not getattr(sys.flags, "safe_path", False):  # python -P puts no folder in front
        sys.path[0] = os.path.dirname(os.path.realpath(words[0]))
    name = os.path.abspath(words[0]) if sys.version_info >= (3, 9) else words[0]  # as Python itself has it
    # A module of its own, so that pickles and the children of multiprocessing find the names of the script.
    script = sys.modules["__main__"] = types.ModuleType("__main__")
    script.__dict__.update(__file__=name, __builtins__=__builtins__, __cached__=None,
                           __loader__=importlib.machinery.SourceFileLoader("__main__", name))
    exec(compile(source, name, "exec", dont_inherit=True), script.__dict__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
