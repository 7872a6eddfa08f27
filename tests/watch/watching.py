"""What the tests of oomdoctor watch share. OOMDOCTOR_BINARY names the program."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
PATIENCE = 60  # seconds


def leak(steps, first=1):
    """Lines of a run that fills 23.69 GiB at step 785."""
    return "".join(f"step {i} loss {2.4 / i:.3f} allocated {8.0 + 0.02 * i:.2f} GiB\n" for i in range(first, first + steps))


class Writer:
    """Writes a log that others rotate, and the same bytes into one file beside it."""

    def __init__(self, path, whole):
        self.path, self.whole, self.turns = path, whole, 0
        whole.write_bytes(b"")

    def write(self, data):
        for path in (self.path, self.whole):
            with open(path, "ab") as file:
                file.write(data)

    def replace(self):
        """As logrotate does: another name for the old file, a new one of the same name."""
        self.turns += 1
        self.path.rename(f"{self.path}.{self.turns}")
        self.path.write_bytes(b"")

    def empty(self):
        """As logrotate does with copytruncate."""
        os.truncate(self.path, 0)


class WatchCase(unittest.TestCase):
    """Starts oomdoctor watch in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "whole").mkdir()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI"))}

    def start(self, *words, **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | more
        return subprocess.Popen([BINARY, "watch", *words], cwd=self.folder, env=self.environment, text=True, **more)

    def end(self, running):
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=PATIENCE)
        return running.returncode, out, err

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing happened")
            time.sleep(0.02)

    def judgements(self, running):
        """Each judgement as it is printed, with --json-lines."""
        for line in running.stdout:
            if not line.startswith('{"time"'):
                return
            yield json.loads(line)

    def analyze(self, name, *words):
        return json.loads(subprocess.run([BINARY, "analyze", "--format", "json", *words, name], cwd=self.folder / "whole",
                                         capture_output=True, text=True, timeout=PATIENCE, check=False).stdout)
