"""Places in which a command can be started: what its standard files are, and what its parent leaves to it. PLACES has them
by name. A started command is a Job: the test drives it, and compares what is left at the end.
"""
import fcntl
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

PATIENCE = 60  # seconds
INPUT = b"0123456789" * 100

# A shell with a terminal, whose job the command is. It continues a job that stopped.
SHELL = """\
set -m
"$@"
status=$?
while [ -n "$(jobs -s)" ]; do
  echo stopped >>stops
  fg >/dev/null
  status=$?
done
echo $status >status
"""


class Job:
    """A started command. `seen` collects what arrives by each of its outputs, a pipe or a terminal."""

    def __init__(self, folder, words, pipes=(1, 2), stdin="pipe", files=(), merged=False, terminal=False, before=None,
                 environment=(), tail=None):
        self.folder, self.words, self.seen, self.at_end, self.terminal = folder, words, {}, {}, terminal
        self.stopped, self.tail = 0, tail
        standard, theirs = {}, []
        if terminal:
            ours, end = pty.openpty()
            fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
            self.settings = (end, termios.tcgetattr(end))
            self.seen[ours], self.typing = bytearray(), ours
            standard = {i: end for i in range(3) if i not in pipes and i not in files}
        for i in pipes:
            ours, end = os.pipe()
            self.seen[ours] = bytearray()
            standard[i] = end
            theirs.append(end)
        for i, (name, flags) in dict(files).items():
            standard[i] = os.open(folder / name, flags | os.O_CREAT, 0o600) if "/" not in name else os.open(name, os.O_WRONLY)
            theirs.append(standard[i])
        if merged:
            standard[2] = standard[1]
        self.input, self.rest = None, None
        if stdin == "pipe":
            self.rest, self.input = os.pipe()
            standard[0] = self.rest
        standard.setdefault(0, subprocess.DEVNULL)
        self.output = next((k for k in self.seen), None)

        def start():
            if terminal:
                os.setsid()
                fcntl.ioctl(self.settings[0], termios.TIOCSCTTY, 0)
            if before:
                before()

        env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", "SIDE": str(folder / "side"), "TERM": "dumb",
               **dict(environment)}
        self.process = subprocess.Popen(["bash", "-c", SHELL, "bash", *words] if terminal else words, cwd=folder, env=env,
                                        stdin=standard[0], stdout=standard.get(1), stderr=standard.get(2),
                                        preexec_fn=start, start_new_session=not terminal)
        for end in theirs:
            os.close(end)
        self.end = time.monotonic() + PATIENCE

    def pump(self, wait=0.02):
        """Reads what has arrived. False when all outputs have ended."""
        ends = [f for f in self.seen if f not in self.at_end]
        for file in select.select(ends, [], [], wait)[0] if ends else ():
            try:
                piece = os.read(file, 1 << 20)
            except OSError:
                piece = b""
            self.seen[file] += piece
            if not piece:
                self.at_end[file] = True
        return any(f not in self.at_end for f in self.seen)

    def until(self, condition, what):
        while not condition():
            self.pump()
            if time.monotonic() > self.end:
                raise TimeoutError(f"no {what}; seen {[v[-300:] for v in self.seen.values()]}")

    def wait_for(self, text):
        self.until(lambda: any(text in seen for seen in self.seen.values()), text)

    def type(self, text):
        """At the terminal, or into standard input as much as somebody reads."""
        if self.input is None:
            os.write(self.typing, text)
            return

        fcntl.fcntl(self.input, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            os.write(self.input, text)
        except BrokenPipeError:
            pass

    def close_input(self):
        if self.input is not None:
            os.close(self.input)
            self.input = None

    def let_go_of_input(self):
        """From now on, the command alone can read its input."""
        os.close(self.rest)
        self.rest = None

    def close_output(self):
        os.close(self.output)
        del self.seen[self.output]

    def has_ended(self):
        if self.process.returncode is not None:
            return True
        pid, status = os.waitpid(self.process.pid, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            self.stopped = os.WSTOPSIG(status)
        elif pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode is not None

    def finish(self):
        """(status, outputs, files that it left, input that nobody read)"""
        self.close_input()
        self.until(self.has_ended, "end")
        if self.terminal:
            end, before = self.settings
            self.pump(0.1)
            settings_are_back = termios.tcgetattr(end) == before
            os.close(end)
        self.until(lambda: not self.pump(), "end of the outputs")
        result = {"status": self.process.returncode, "outputs": [bytes(seen) for seen in self.seen.values()]}
        if self.terminal:
            result["settings are back"] = settings_are_back
        for file in self.seen:
            os.close(file)
        if self.rest is not None:
            result["unread"] = os.read(self.rest, 1 << 16)
            os.close(self.rest)
        for path in sorted(pathlib.Path(self.folder).iterdir()):
            if path.is_file() and path.name not in ("daemon",) and path.suffix not in (".so", ".1", ".c"):
                result[path.name] = path.read_bytes()
        return result

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def limit(what, size):
    return lambda: resource.setrlimit(what, (size, size))


def closing(*files):
    return lambda: [os.close(i) for i in files]


def ignoring(number):
    return lambda: signal.signal(number, signal.SIG_IGN)


def blocking(*numbers):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


WRITE, APPEND, TRUNCATE = os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC
TERMINAL = {"terminal": True, "pipes": (), "stdin": "terminal"}
PLACES = {
    "pipes": {},
    "one pipe": {"pipes": (1,), "merged": True},
    "files": {"pipes": (), "files": {1: ("out", TRUNCATE), 2: ("err", TRUNCATE)}},
    "one file": {"pipes": (), "files": {1: ("out", TRUNCATE)}, "merged": True},
    "file appended": {"pipes": (2,), "files": {1: ("out", APPEND)}},
    "terminal": TERMINAL,
    "terminal, pipe": {**TERMINAL, "pipes": (1,)},
    "full disk": {"pipes": (), "files": {1: ("/dev/full", WRITE), 2: ("/dev/full", WRITE)}},
    "no output": {"pipes": (), "files": {1: ("/dev/null", WRITE), 2: ("/dev/null", WRITE)}},
    **{"closed " + "".join(map(str, c)): {"before": closing(*c)} for c in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))},
    "no home": {"environment": {"HOME": ""}},
    "16 files": {"before": limit(resource.RLIMIT_NOFILE, 16)},
    "7 files": {"before": limit(resource.RLIMIT_NOFILE, 7)},
    "files of 0 bytes": {"before": limit(resource.RLIMIT_FSIZE, 0)},
    "files of 6000 bytes": {"before": limit(resource.RLIMIT_FSIZE, 6000)},
    "400 MB of space": {"before": limit(resource.RLIMIT_AS, 400_000_000)},
    "60 MB of space": {"before": limit(resource.RLIMIT_AS, 60_000_000)},
    "SIGCHLD ignored": {"before": ignoring(signal.SIGCHLD)},
    "SIGPIPE ignored": {"before": ignoring(signal.SIGPIPE)},
    "SIGTERM ignored": {"before": ignoring(signal.SIGTERM)},
    "signals blocked": {"before": blocking(signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)},
}


def other_user():
    """Starts as a user who may not write into the working directory, nor among the temporary files."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
