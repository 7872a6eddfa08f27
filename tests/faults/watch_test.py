"""Every system call of oomdoctor watch fails in turn. The warning is given all the same, a signal ends the program, and the
last report is the usual one or a sentence says why there is none.

OOMDOCTOR_BINARY names the program, OOMDOCTOR_IO_FAULTS the library that is preloaded into it (io.cc).
"""
import concurrent.futures
import errno
import itertools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ["OOMDOCTOR_BINARY"])
FAULTS = os.path.abspath(os.environ["OOMDOCTOR_IO_FAULTS"])
LOG = pathlib.Path(__file__).resolve().parents[2] / "samples" / "stories" / "fragmentation.log"
PATIENCE = 120  # seconds
MOST_CALLS = 2000
AT_ONCE = 4  # most of the time, each waits
# The names that io.cc knows and that watching may call, each with errors that the system may give for it.
ERRORS = {"open": ("EIO", "EMFILE", "ESTALE"), "read": ("EIO", "ENOMEM"), "write": ("EIO", "ENOSPC", "EAGAIN"),
          "pread": ("EIO", "ESTALE"), "stat": ("EIO", "ESTALE"), "fstat": ("EIO", "ESTALE"), "lseek": ("EIO",),
          "fsync": ("EIO", "ENOSPC"), "rename": ("EIO", "ENOSPC"), "unlink": ("EIO",), "fchmod": ("EIO",),
          "close": ("EIO",), "access": ("EIO",), "pipe": ("EMFILE", "ENFILE"), "dup2": ("EMFILE",), "fcntl": ("EMFILE",),
          "ioctl": ("EIO",), "poll": ("ENOMEM", "EAGAIN"), "inotify_init1": ("EMFILE",),
          "inotify_add_watch": ("ENOSPC", "ENOMEM"), "signalfd": ("EMFILE", "ENOMEM"), "fork": ("EAGAIN", "ENOMEM"),
          "posix_spawn": ("EAGAIN", "ENOMEM"), "waitpid": ("ECHILD",), "kill": ("EPERM",)}


class Outcome:
    """What came of one watching in which a call failed."""

    def __init__(self, name, call, error, times="1"):
        self.title = f"{name} {call}: {error}"
        with tempfile.TemporaryDirectory() as folder:
            self.watch(pathlib.Path(folder), {"OOMDOCTOR_FAIL_CALLS": name, "OOMDOCTOR_FAIL_CALL": str(call),
                                              "OOMDOCTOR_FAIL_WITH": str(getattr(errno, error)),
                                              "OOMDOCTOR_FAIL_TIMES": times,
                                              "OOMDOCTOR_FAILED": f"{folder}/failed"})

    def watch(self, folder, faults):
        usual = {k: v for k, v in os.environ.items() if not k.startswith(("CI", "GITHUB_"))}
        sanitizer = {"ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        log, hook, failed = folder / "train.log", folder / "hook", folder / "failed"
        log.write_text("step 1 loss 1.0\n")
        running = subprocess.Popen([BINARY, "watch", "train.log", "--format", "json", "--every", "0.01s", "--prometheus",
                                    "gauges.prom", "--on-risk", "echo $OOMDOCTOR_RISK > hook"], cwd=folder,
                                   env=usual | sanitizer | {"LD_PRELOAD": FAULTS} | faults, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.1)
        with open(log, "ab") as file:
            file.write(LOG.read_bytes())
        end = time.monotonic() + PATIENCE
        while not hook.exists() and running.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        self.warned = hook.exists()
        running.send_signal(signal.SIGTERM)
        asked = time.monotonic()
        self.out, self.err = running.communicate(timeout=PATIENCE)
        self.answer = time.monotonic() - asked
        self.status = running.returncode
        self.happened = failed.exists()
        self.gauges = folder.joinpath("gauges.prom").read_text() if folder.joinpath("gauges.prom").exists() else ""

    def refused(self):
        """It ended before it watched, with a sentence."""
        return not self.warned and self.status == 2 and self.err.startswith(b"oomdoctor: ")

    def faults(self):
        """What is wrong with it."""
        if self.refused():
            return
        if not self.warned:
            yield "no warning"
        if self.status == 2 and b"oomdoctor: cannot write" in self.err:
            return  # the last report could not be printed, and a sentence says so
        if self.status != 1:
            yield f"status {self.status}: {self.err.decode()}"
        elif json.loads(self.out[self.out.index(b"{\n"):])["verdict"]["outcome"] != "oom":
            yield "another outcome"
        if 'outcome="oom"} 1' not in self.gauges:
            yield "no gauges"
        if self.answer > 10:
            yield f"the signal was answered after {self.answer:.1f} seconds"


class Sweep(unittest.TestCase):
    def check(self, outcome):
        with self.subTest(outcome.title):
            self.assertEqual(list(outcome.faults()), [], outcome.err.decode())

    def sweep(self, name):
        """Fails each call of this name once, until there is none left. Returns the number of calls."""
        errors = itertools.cycle(ERRORS[name])
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(0, MOST_CALLS, AT_ONCE):
                calls = [pool.submit(Outcome, name, call, next(errors)) for call in range(first, first + AT_ONCE)]
                outcomes = [call.result() for call in calls]
                for outcome in outcomes:
                    self.check(outcome)
                if not all(outcome.happened for outcome in outcomes):
                    return first + sum(outcome.happened for outcome in outcomes)
        self.fail("the program makes more calls than this test follows")

    def test_each_call_fails_once(self):
        counts = {name: self.sweep(name) for name in ERRORS}
        print(", ".join(f"{count} of {name}" for name, count in counts.items() if count))
        self.assertGreater(counts["fork"], 0)
        self.assertGreater(counts["posix_spawn"], 0)
        self.assertGreater(sum(counts.values()), 50)

    def test_a_kind_of_calls_fails_always(self):
        """Those that watching can do without."""
        for name, error in (("signalfd", "EMFILE"), ("inotify_init1", "EMFILE"), ("inotify_add_watch", "ENOSPC"),
                            ("poll", "ENOMEM"), ("fsync", "EINVAL"), ("waitpid", "ECHILD"), ("ioctl", "ENOTTY")):
            self.check(Outcome(name, 0, error, times="0"))


if __name__ == "__main__":
    unittest.main()
