"""What the tests of the package's entry points share: a script that runs out of memory, and programs with each fault.

OOMDOCTOR_BINARY names the program.
"""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = ROOT / "python"
SAMPLES = ROOT / "samples"
BINARY = os.environ["OOMDOCTOR_BINARY"] = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
sys.path.insert(0, str(PACKAGES))

MESSAGE = ("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.27 GiB is free. "
           "Including non-PyTorch memory, this process has 38.11 GiB memory in use. Of the allocated memory 35.20 GiB is "
           "allocated by PyTorch, and 2.41 GiB is reserved by PyTorch but unallocated.")
SCRIPT = f"""\
class OutOfMemoryError(RuntimeError): pass
def forward(batch):
    activations = [0] * batch
    raise OutOfMemoryError({MESSAGE!r})
"""
REPORT = "OUT OF MEMORY"
TIMEOUT = 60
LEAST_INJECTIONS = 4

# What the program may do, each as a shell script; None: there is no file.
FAULTS = {
    "missing": None,
    "hanging": "sleep 600",
    "hanging with children": "sleep 600 & sleep 600 & wait",
    "crashing": "kill -SEGV $$",
    "failing": "echo 'oomdoctor: cannot do this' >&2; exit 2",
    "printing nothing": "exit 1",
    "printing garbage": r"printf '\377\000{[ GARBAGE'; exit 1",
    "printing other JSON": "echo '{\"verdict\": [1, {}], \"schema_version\": 7}'; exit 1",
    "printing deep JSON": "head -c 200000 /dev/zero | tr '\\0' '['; exit 1",
    "printing without end": "yes GARBAGE",
    "closing its input": "exec <&-; echo GARBAGE; exit 1",
}


@functools.lru_cache(maxsize=None)
def python_with(*modules):
    """A Python of this machine with these modules: the one of the tests, else that of the system, else None."""
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True, timeout=TIMEOUT,
                              check=False) if os.path.exists(python) else None
        if done is not None and done.returncode == 0:
            return python
    return None


def needs(*modules):
    return unittest.skipUnless(python_with(*modules), f"no Python here has {' and '.join(modules)}: apt install " +
                               " ".join(f"python3-{module.lower()}" for module in modules))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_python(self, *words, python=sys.executable, program=BINARY, stderr=subprocess.PIPE, **environment):
        paths = [str(PACKAGES), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "NO_COLOR")}
        return subprocess.run([python, *map(str, words)], stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=self.folder,
                              timeout=TIMEOUT, check=False,
                              env={**kept, "OOMDOCTOR_BINARY": str(program), "PYTHONPATH": ":".join(paths),
                                   "PYTHONDONTWRITEBYTECODE": "1", **environment})

    def script(self, text, name="train.py"):
        path = self.folder / name
        path.write_text(SCRIPT + textwrap.dedent(text))
        return path

    def run_script(self, text, *words, **options):
        """Runs a script below SCRIPT with the short timeout that the tests of hanging programs need."""
        head = "import oomdoctor, oomdoctor.hooks\noomdoctor.hooks.REPORT_TIMEOUT = 2\noomdoctor.install()\n"
        return self.run_python(self.script(head + textwrap.dedent(text)), *words, **options)

    def faulty(self, fault):
        """The path of a program with a fault."""
        path = self.folder / "faulty-program"
        if FAULTS[fault] is not None:
            path.write_text(f"#!/bin/sh\n{FAULTS[fault]}\n")
            path.chmod(0o755)
        return path

    def assert_reported(self, done, status=1, times=1):
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stderr.count(f"\n{REPORT}  "), times, done.stderr)
        self.assertNotIn("<stdin>", done.stderr)
        self.assertNotRegex(done.stderr, r"\[lines? \d|-v shows")

    def injections(self, run, file=""):
        """(function, what `run` returns) for an exception in each function of the package, or of a file of it, that `run` calls.
        `run` takes the environment of a Python that imports injection.py."""
        report = self.folder / "injected"
        for number in range(1, 1000):
            report.unlink(missing_ok=True)
            done = run(INJECTION=str(number), INJECTION_FILE=file, INJECTION_REPORT=str(report))
            if not report.exists():
                self.assertGreater(number, LEAST_INJECTIONS)
                return
            yield report.read_text(), done
