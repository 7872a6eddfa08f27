"""The launcher of the npm package, packaging/npm/oomdoctor.js: words, streams, signals, stops and ends are those of the
program without it. OOMDOCTOR_BINARY names the program.

Newer versions of Node.js become the program, older ones accompany it. NODE names another Node.js than that of the path;
a newer one does both. Skipped (status 77) without Node.js.
"""
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pseudo_terminal

LAUNCHER = HERE.parents[1] / "packaging" / "npm" / "oomdoctor.js"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
NODE = os.environ.get("NODE") or shutil.which("node")
PATIENCE = 60  # seconds
SKIPPED = 77
CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
NOT_CAUGHT = {signal.SIGKILL, signal.SIGSTOP}
FAULTS = {signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}

# Counts each signal until SIGTERM, and says so in the file of its first argument.
COUNTER = f"""#!{sys.executable}
import os, signal, sys
said = open(sys.argv[1], "a", buffering=1)
def got(number, frame):
    said.write(f"{{number}}\\n")
    if number == signal.SIGTERM:
        sys.exit(7)
for number in set(range(1, 32)) - {{9, 19}} - {{int(word) for word in sys.argv[2:]}}:
    signal.signal(number, got)
said.write(f"ready {{os.getpid()}}\\n")
while True:
    signal.pause()
"""


class Case(unittest.TestCase):
    """With the way that this Node.js chooses."""
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.launcher = shutil.copy(LAUNCHER, self.folder)
        self.program = self.folder / "node_modules" / f"oomdoctor-linux-{CPU}" / "bin" / "oomdoctor"
        self.program.parent.mkdir(parents=True)
        self.options = []

    def install(self, script):
        self.program.write_text(script)
        self.program.chmod(0o755)

    def command(self, *words):
        return [NODE, *self.options, self.launcher, *words]

    def start(self, *words, **options):
        process = subprocess.Popen(self.command(*words), cwd=self.folder, **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
        if process.poll() is None:
            process.kill()
            process.wait()

    def run_to_end(self, *words, **options):
        return subprocess.run(self.command(*words), cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False,
                              **options)

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return found

    def said(self):
        """What COUNTER wrote: the id of its process, and the numbers of its signals."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.folder / "said").read_text().splitlines()
            if lines:
                return int(lines[0].split()[1]), [int(line) for line in lines[1:]]
        return None

    def start_counter(self, *words, **options):
        self.install(COUNTER)
        launcher = self.start("said", *words, **options)
        program, _ = self.wait_for(self.said)
        self.addCleanup(self.end_process, program)
        return launcher, program

    def end_process(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    def state(self, process):
        """Its state in /proc; "" after its end."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return ""


class Launcher(Case):
    def test_words_input_output_and_environment_pass_unchanged(self):
        self.install("#!/bin/sh\nprintf '<%s>' \"$@\"; cat; printf '%s' \"$A_WORD\" >&2\n")
        done = self.run_to_end("a b", "", "c\nd", "--e", "é", input=b"input \0\xff",
                               env={**os.environ, "A_WORD": "x y"})
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "<a b><><c\nd><--e><é>".encode() + b"input \0\xff", b"x y"))

    def test_the_program_ignores_no_signal(self):
        self.install("#!/bin/sh\nexec grep -E 'Sig(Ign|Blk)' /proc/self/status\n")
        self.assertEqual(self.run_to_end().stdout.split(), [b"SigBlk:", b"0" * 16, b"SigIgn:", b"0" * 16])

    def test_every_exit_status_is_that_of_the_program(self):
        for status in (0, 1, 2, 3, 127, 137, 255):
            self.install(f"#!/bin/sh\nexit {status}\n")
            self.assertEqual(self.run_to_end().returncode, status)

    def test_it_ends_by_the_signal_of_the_program(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGPIPE, signal.SIGTERM,
                       signal.SIGUSR1, signal.SIGXFSZ):
            self.install(f"#!/bin/sh\nulimit -c 0\nkill -{number.value} $$\n")
            self.assertEqual(self.run_to_end().returncode, -number, number)

    def test_the_program_gets_each_signal_once(self):
        launcher, program = self.start_counter()
        sent = sorted(set(range(1, 32)) - NOT_CAUGHT - FAULTS - {signal.SIGTERM, signal.SIGCHLD}) + [signal.SIGTERM]
        for at, number in enumerate(sent, 1):
            launcher.send_signal(number)
            self.wait_for(lambda count=at: len(self.said()[1]) >= count)
        self.assertEqual(launcher.wait(PATIENCE), 7)
        self.assertEqual(self.said()[1], sent)
        self.assertEqual(self.state(program), "")

    def test_a_signal_that_ends_the_program_ends_the_launcher(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            self.install("#!/bin/sh\necho $$ >said.new; mv said.new said; exec sleep 60\n")
            (self.folder / "said").unlink(missing_ok=True)
            launcher = self.start()
            self.wait_for(lambda: (self.folder / "said").exists())
            launcher.send_signal(number)
            self.assertEqual(launcher.wait(PATIENCE), -number)
            self.assertEqual(self.state((self.folder / "said").read_text().strip()), "")

    def test_a_command_under_observation_gets_the_signals(self):
        self.program.symlink_to(BINARY)
        command = "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        launcher = self.start("run", "--folder", "logs", "--", "sh", "-c", command)
        self.assertEqual(launcher.stdout.readline(), b"ready\n")
        launcher.terminate()
        self.assertEqual(launcher.stdout.readline(), b"got\n")
        self.assertEqual(launcher.wait(PATIENCE), 9)

    def test_a_program_that_does_not_start_is_an_error_of_the_user(self):
        self.program.write_text("")
        done = self.run_to_end()
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"^oomdoctor: /\S+/bin/oomdoctor: EACCES")
        self.program.unlink()
        self.assertRegex(self.run_to_end().stderr.decode(), r"^oomdoctor: the package oomdoctor-linux-\w+ is not inst")


class AtTerminal(Case):
    """The launcher is the foreground job of a terminal, and this process its shell."""
    def start_counter(self, *words):
        ours, theirs = pseudo_terminal.opened()
        self.addCleanup(os.close, ours)

        def foreground():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        found = super().start_counter(*words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=foreground)
        os.close(theirs)
        self.terminal = ours
        return found

    def test_the_program_gets_an_interrupt_of_the_keyboard_once(self):
        launcher, _ = self.start_counter()
        os.write(self.terminal, b"\x03")
        self.wait_for(lambda: signal.SIGINT in self.said()[1])
        os.write(self.terminal, b"\x1c")
        self.wait_for(lambda: signal.SIGQUIT in self.said()[1])
        launcher.terminate()
        self.assertEqual(launcher.wait(PATIENCE), 7)
        self.assertEqual(self.said()[1], [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])

    def test_the_shell_sees_a_stop_of_the_program_and_continues_it(self):
        launcher, program = self.start_counter(str(int(signal.SIGCONT)))
        os.kill(program, signal.SIGSTOP)  # as oomdoctor run does when a user types ctrl-Z
        found, status = os.waitpid(launcher.pid, os.WUNTRACED)
        self.assertEqual((found, os.WIFSTOPPED(status)), (launcher.pid, True))
        self.assertEqual(self.state(program), "T")
        launcher.send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.state(program) != "T")
        launcher.terminate()
        self.assertEqual(launcher.wait(PATIENCE), 7)


class OlderNode(Case):
    """With the way of an older Node.js, where this one is not older itself."""
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([NODE, "-p", "Boolean(process.execve)"], capture_output=True, timeout=PATIENCE,
                              check=True)
        if done.stdout.strip() != b"true":
            raise unittest.SkipTest("this Node.js has no other way")

    def setUp(self):
        super().setUp()
        older = self.folder / "older.js"
        older.write_text("delete process.execve;\n")
        self.options = ["--require", str(older)]


class Accompanied(OlderNode, Launcher):
    pass


class AccompaniedAtTerminal(OlderNode, AtTerminal):
    pass


if __name__ == "__main__":
    if NODE is None or CPU is None:
        print("skipped: needs Node.js on a machine that has a package")
        sys.exit(SKIPPED)
    unittest.main()
