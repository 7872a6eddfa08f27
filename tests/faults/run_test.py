"""Every system call of oomdoctor run fails in turn, in each of its processes. The command prints, reads and ends as without
it. The report of a command that ran out of memory is right, or a sentence says why there is none.

OOMDOCTOR_BINARY names the program, OOMDOCTOR_IO_FAULTS the library that is preloaded into it (io.cc).
"""
import concurrent.futures
import errno
import itertools
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

BINARY = os.path.abspath(os.environ["OOMDOCTOR_BINARY"])
FAULTS = os.path.abspath(os.environ["OOMDOCTOR_IO_FAULTS"])
LOG = pathlib.Path(__file__).resolve().parents[2] / "samples" / "stories" / "fragmentation.log"
PATIENCE = 120  # seconds
MOST_CALLS = 2000
AT_ONCE = 4
# The names that io.cc knows and that run may call, each with errors that the system may give for it.
ERRORS = {"open": ("EIO", "EMFILE", "ENOSPC", "EACCES"), "read": ("EIO",), "write": ("EIO", "ENOSPC", "EAGAIN"),
          "pread": ("EIO",), "lseek": ("EIO",), "stat": ("EIO",), "fstat": ("EIO",), "mkdir": ("ENOSPC", "EROFS"),
          "rename": ("EIO", "ENOSPC"), "unlink": ("EIO",), "symlink": ("ENOSPC",), "close": ("EIO",), "access": ("EIO",),
          "ftruncate": ("EIO",), "pipe": ("EMFILE", "ENFILE"), "socketpair": ("EMFILE", "ENFILE"),
          "sendmsg": ("EAGAIN", "ENOBUFS", "EPIPE"), "recv": ("EIO", "ENOMEM"), "signalfd": ("EMFILE", "ENOMEM"),
          "poll": ("ENOMEM", "EAGAIN"), "fork": ("EAGAIN", "ENOMEM"), "kill": ("EPERM",), "dlopen": ("EIO",)}
AT_TERMINAL = {"openpty": ("ENOSPC",), "tcgetattr": ("EIO",), "tcsetattr": ("EIO",), "ioctl": ("EIO",),
               "pipe": ("EMFILE",), "fork": ("EAGAIN",), "signalfd": ("EMFILE",), "poll": ("EAGAIN",)}
COMMAND = ["sh", "-c", 'echo out; cat >&2; exit 7']
OWN = re.compile(rb"(oomdoctor: [^\n]*\n)*", re.S)


class Outcome:
    """What came of one run in which a call failed."""

    def __init__(self, name, call, error, terminal=False):
        self.title, self.terminal = f"{name} {call}: {error}{' at a terminal' if terminal else ''}", terminal
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            self.run({"OOMDOCTOR_FAIL_CALLS": name, "OOMDOCTOR_FAIL_CALL": str(call), "OOMDOCTOR_FAILED": f"{folder}/failed",
                      "OOMDOCTOR_FAIL_WITH": str(getattr(errno, error))})

    def run(self, faults):
        usual = {k: v for k, v in os.environ.items() if not k.startswith(("CI", "GITHUB_"))}
        sanitizer = {"ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        out, theirs = pty.openpty() if self.terminal else os.pipe()
        with open(LOG, "rb") as log:
            running = subprocess.Popen([BINARY, "run", *COMMAND], cwd=self.folder, stdin=log, stdout=theirs,
                                       stderr=subprocess.PIPE, start_new_session=True,
                                       env=usual | sanitizer | {"LD_PRELOAD": FAULTS, "TMPDIR": str(self.folder)} | faults)
        os.close(theirs)
        try:
            _, self.err = running.communicate(timeout=PATIENCE)
            self.status = running.returncode
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            _, self.err = running.communicate()
            self.status = "hangs"
        self.out = b""
        try:
            while piece := os.read(out, 1 << 16):
                self.out += piece
        except OSError:  # the terminal's end
            pass
        os.close(out)
        self.happened = (self.folder / "failed").exists()
        reports = [json.loads(p.read_text()) if p.stat().st_size else None for p in self.folder.rglob("report.json")]
        self.outcomes = [report["verdict"]["outcome"] if report else "empty" for report in reports]
        self.names_a_loss = any(report and report.get("lost") for report in reports)

    def faults(self):
        """What is wrong with it."""
        if self.status != 7:
            yield f"status {self.status}"
        if self.out.replace(b"\r\n", b"\n") != b"out\n":
            yield f"output {self.out}"
        begin = OWN.match(self.err).end()
        if self.err[begin:begin + LOG.stat().st_size] != LOG.read_bytes():
            yield "the errors of the command changed"
        if any(outcome not in ("oom", "empty") and not self.says_what_is_lost(outcome) for outcome in self.outcomes):
            yield f"outcome {self.outcomes}"
        if "oom" not in self.outcomes and b"oomdoctor: " not in self.err.replace(b"oomdoctor: recording into", b""):
            yield "no report, and no word about it"

    def says_what_is_lost(self, outcome):
        return outcome != "no_oom" and self.names_a_loss


class Sweep(unittest.TestCase):
    def check(self, outcome):
        with self.subTest(outcome.title):
            self.assertEqual(list(outcome.faults()), [], outcome.err[-1500:].decode(errors="replace"))

    def sweep(self, name, errors, terminal=False):
        """Fails each call of this name once, until there is none left. Returns the number of calls."""
        errors = itertools.cycle(errors)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(0, MOST_CALLS, AT_ONCE):
                calls = [pool.submit(Outcome, name, call, next(errors), terminal) for call in range(first, first + AT_ONCE)]
                outcomes = [call.result() for call in calls]
                for outcome in outcomes:
                    self.check(outcome)
                if not all(outcome.happened for outcome in outcomes):
                    return first + sum(outcome.happened for outcome in outcomes)
        self.fail("the program makes more calls than this test follows")

    def test_each_call_fails_once(self):
        counts = {name: self.sweep(name, errors) for name, errors in ERRORS.items()}
        print(", ".join(f"{count} of {name}" for name, count in counts.items() if count), file=sys.stderr)
        for name in ("open", "write", "fork", "pipe", "socketpair", "sendmsg", "recv", "signalfd"):
            self.assertGreater(counts[name], 0)

    def test_each_call_fails_once_at_a_terminal(self):
        counts = {name: self.sweep(name, errors, True) for name, errors in AT_TERMINAL.items()}
        print(", ".join(f"{count} of {name}" for name, count in counts.items() if count), file=sys.stderr)
        self.assertGreater(counts["openpty"], 0)


if __name__ == "__main__":
    unittest.main()
