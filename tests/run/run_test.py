"""oomdoctor run with real commands: what passes through unchanged, what is written down, and what is reported when a
command dies. OOMDOCTOR_BINARY names the program.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pseudo_terminal  # noqa: E402

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
PATIENCE = 60  # seconds

# Keeps memory in every step, until something stops it: "BYTES SECONDS".
LEAK = """\
import sys, time
keep = []
for step in range(1, 2000):
    keep.append(bytearray(int(sys.argv[1])))
    print(f"step {step} loss {2.5 / step:.3f}", flush=True)
    time.sleep(float(sys.argv[2]))
"""

# Says when it is ready, then what it is told by signals; a signal may come while Python's own print() still runs.
LISTENER = """\
import os, signal, sys
def say(number, frame):
    os.write(1, f"got {signal.Signals(number).name}\\n".encode())
    sys.exit(7)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT):
    signal.signal(number, say)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""

TERMINAL = """\
import os, sys, time
print("terminals", [os.isatty(i) for i in range(3)], "size", tuple(os.get_terminal_size()), flush=True)
try:
    print("typed", input(), flush=True)
    while True:
        time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(9)
"""


# Two GPUs. The older function counts 268 MiB of the driver as used, too.
NVML = """\
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) { *device = (void*)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  const char* words = "NVIDIA A40";
  for (unsigned i = 0; i < size; ++i) if (!(name[i] = words[i])) break;
  return 0;
}
struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(void* device, struct memory* m) { m->total = 46068ull << 20; m->used = 1268ull << 20; return 0; }
struct memory2 { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory2* m) {
  if (m->version != (sizeof *m | 2 << 24)) return 25;
  m->total = 46068ull << 20; m->reserved = 268ull << 20; m->used = (unsigned long)device * (1000ull << 20);
  return 0;
}
"""


def is_monitor(process):
    try:
        return process.read_bytes() == b"sleep\0987654\0"
    except OSError:  # it has ended
        return False


def linked_dynamically():
    """Whether the program loads shared libraries: it names a loader."""
    return b"/ld-linux" in pathlib.Path(BINARY).read_bytes()[:4096]


def memory_group():
    """A new cgroup of the memory controller as (folder, file of its limit), or None where this process may not make
    one."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for top, limit, mine in (("/sys/fs/cgroup", "memory.max", controllers == ""),
                                 ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory" in controllers.split(","))):
            folder = pathlib.Path(top + path) / f"oomdoctor-test-{os.getpid()}"
            try:
                if not mine:
                    continue
                folder.mkdir()
                if (folder / limit).exists():
                    return folder, folder / limit
                folder.rmdir()
            except OSError:
                continue
    return None


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI"))}
        for name, text in (("leak.py", LEAK), ("listener.py", LISTENER), ("terminal.py", TERMINAL)):
            (self.folder / name).write_text(text)

    def start(self, *words, options=(), **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | more
        return subprocess.Popen([BINARY, "run", *options, *words], cwd=self.folder, env=self.environment, **more)

    def finish(self, *words, send=None, **more):
        if send is not None:
            more["stdin"] = subprocess.PIPE
        running = self.start(*words, **more)
        out, err = running.communicate(send, timeout=PATIENCE)
        return running.returncode, out or b"", err or b""

    def left_behind(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name.startswith("oomdoctor-run"))

    def report(self, folder="oomdoctor-run"):
        return json.loads((self.folder / folder / "report.json").read_text())

    # --- what passes through ---

    def test_a_command_that_ends_well_leaves_its_output_and_nothing_else(self):
        status, out, err = self.finish("sh", "-c", "echo out; echo err >&2; cat", send=b"in\0put\n")
        self.assertEqual((status, out, err), (0, b"out\nin\0put\n", b"oomdoctor: recording into oomdoctor-run/\nerr\n"))
        self.assertEqual(self.left_behind(), [])

    def test_statuses_are_those_of_a_shell(self):
        (self.folder / "text").write_text("no program")
        self.assertEqual(self.finish("sh", "-c", "exit 3")[0], 3)
        self.assertEqual(self.finish("no_such_command")[0], 127)
        self.assertEqual(self.finish("./text")[0], 126)
        self.assertEqual(self.left_behind(), ["oomdoctor-run"])  # only of the command that ran

    def test_it_dies_by_the_signal_that_its_command_died_by(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT):
            status, _, err = self.finish("sh", "-c", f"kill -{number.value} $$")
            self.assertEqual(status, -number.value)
            self.assertIn(b"oomdoctor-run", err)

    def test_signals_reach_the_command(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT):
            running = self.start(sys.executable, "listener.py")
            self.assertEqual(running.stdout.readline(), b"ready\n")
            running.send_signal(number)
            out, _ = running.communicate(timeout=PATIENCE)
            self.assertEqual((running.returncode, out), (7, f"got {number.name}\n".encode()))

    def test_output_and_errors_in_one_pipe_keep_their_order(self):
        words = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"
        _, out, _ = self.finish("sh", "-c", words, stderr=subprocess.STDOUT, options=("--quiet",))
        self.assertEqual(out.decode().split(), [w for i in range(1, 10) for w in ("out", str(i), "err", str(i))])

    def test_a_reader_that_goes_away_ends_the_command(self):
        running = self.start("yes")
        running.stdout.read(10)
        running.stdout.close()
        running.wait(timeout=PATIENCE)
        running.stderr.close()
        self.assertEqual(running.returncode, -signal.SIGPIPE)

    def test_a_child_that_prints_on_keeps_its_output_and_not_the_end(self):
        running = self.start("sh", "-c", "yes & echo $! >child; exit 3")
        running.stdout.read(1)
        number = self.folder / "child"
        end = time.monotonic() + PATIENCE
        while not (number.exists() and number.read_text().endswith("\n")):  # it may print before its number is known
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        child = int(number.read_text())
        self.addCleanup(self.kill, child)
        while running.poll() is None:
            running.stdout.read(1 << 16)
        self.assertEqual(running.returncode, 3)
        for _ in range(50):
            self.assertEqual(len(running.stdout.read(1 << 16)), 1 << 16)
        running.stdout.close()
        running.stderr.close()
        end = time.monotonic() + PATIENCE
        while self.runs(child):  # its reader is gone
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    @staticmethod
    def kill(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    @staticmethod
    def runs(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def test_a_stopped_command_goes_on(self):
        running = self.start("sh", "-c", "echo $$; read line", stdin=subprocess.PIPE)
        pid = int(running.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        running.stdin.write(b"go\n")
        running.stdin.flush()
        time.sleep(0.3)
        self.assertIsNone(running.poll())
        os.kill(pid, signal.SIGCONT)
        running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 0)

    def test_a_flood_of_output_is_passed_on_whole_and_kept_in_part(self):
        size = 200_000_000
        flood = f"yes 'step 1 loss 0.5' | head -c {size}; exit 1"
        running = self.start("sh", "-c", flood, stderr=subprocess.DEVNULL)
        got = 0
        while piece := running.stdout.read(1 << 20):
            got += len(piece)
        running.stdout.close()
        self.assertEqual(running.wait(timeout=PATIENCE), 1)
        self.assertEqual(got, size)
        kept = (self.folder / "oomdoctor-run/output.log").stat().st_size
        # The end of a flood is always kept. How much of the rest is kept depends on how busy the machine is.
        self.assertTrue(16 << 20 <= kept <= 49 << 20, kept)
        self.assertEqual(sorted(os.listdir(self.folder / "oomdoctor-run")),
                         ["output.log", "report.html", "report.json", "report.txt", "samples.csv"])
        lines = (self.folder / "oomdoctor-run/output.log").read_bytes()
        mark = re.match(rb"(oomdoctor run [0-9a-f]{16}: )output of the command: sh -c ", lines)[1]
        gone = [int(n) for n in re.findall(rb"\n\[" + mark + rb"(\d+) bytes of output ", lines)]
        self.assertAlmostEqual(sum(gone) + kept, size, delta=10_000)  # the lines of oomdoctor
        self.assertIn(b"step 1 loss 0.5\n", lines[-2000:])
        self.assertRegex(lines, mark + rb"the command ended with exit status 1: sh -c .*\n$")

    # --- the terminal ---

    def at_terminal(self, *words):
        """(process, our end, its end, its settings before) of a run at a terminal of 33 rows and 77 columns."""
        ours, theirs = pseudo_terminal.opened()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        before = termios.tcgetattr(theirs)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))

        def own_session():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        running = self.start(*words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_session)
        return running, ours, theirs, before

    def read_until(self, terminal, words):
        text = b""
        end = time.monotonic() + PATIENCE
        while words not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    text += os.read(terminal, 4096)
                except OSError:
                    break
        self.assertIn(words, text)
        return text

    def test_a_terminal_stays_a_terminal(self):
        running, ours, theirs, before = self.at_terminal(sys.executable, "terminal.py")
        self.read_until(ours, b"terminals [True, True, True] size (77, 33)")
        os.write(ours, b"some words\r")
        self.read_until(ours, b"typed some words")
        os.write(ours, b"\x03")
        self.read_until(ours, b"interrupted")
        self.read_until(ours, b"oomdoctor-run")  # the report: it did not end well
        self.assertEqual(running.wait(timeout=PATIENCE), 9)
        self.assertEqual(termios.tcgetattr(theirs), before)

    def test_ctrl_z_stops_nothing_that_nobody_could_continue(self):
        running, ours, _, _ = self.at_terminal(sys.executable, "terminal.py")  # as the first process of a session
        self.read_until(ours, b"size")
        os.write(ours, b"\x1aon\r")
        self.read_until(ours, b"typed on")
        os.write(ours, b"\x03")
        self.assertEqual(running.wait(timeout=PATIENCE), 9)

    # --- what is reported ---

    def test_a_leak_that_a_limit_of_the_shell_ends(self):
        command = f"ulimit -v 400000; exec {sys.executable} leak.py 20000000 0.01"
        status, out, err = self.finish("sh", "-c", command)
        self.assertEqual(status, 1)
        self.assertTrue(out.startswith(b"step 1 loss"))
        self.assertIn(b"OUT OF MEMORY", err)
        report = self.report()
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["cause"]), ("oom", "host_memory"))
        self.assertEqual(len(report["inputs"]), 2)

    def test_a_leak_that_a_cgroup_ends(self):
        group = memory_group()
        if group is None:
            self.skipTest("no cgroup of the memory controller can be made here")
        folder, limit = group
        self.addCleanup(folder.rmdir)
        limit.write_text("250000000")

        def inside():
            (folder / "cgroup.procs").write_text(str(os.getpid()))
        status, _, err = self.finish(sys.executable, "leak.py", "8000000", "0.1", preexec_fn=inside)
        self.assertEqual(status, -signal.SIGKILL)
        report = self.report()
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["cause"]), ("oom", "host_memory"))
        self.assertEqual(report["incidents"][0]["agent"], "cgroup")
        used = [s for s in report["series"] if s["metric"] == "host_rss"]
        self.assertGreater(used[0]["max_value"], 100_000_000)
        self.assertIn(b"limit of 238.", err)

    def test_what_the_gpu_monitor_prints_is_read(self):
        tools = self.folder / "bin"
        tools.mkdir()
        monitor = tools / "nvidia-smi"
        monitor.write_text("#!/bin/sh\n"
                           "echo 'timestamp, index, name, memory.total [MiB], memory.used [MiB], utilization.gpu [%]'\n"
                           "for i in 1 2 3 4 5 6 7 8 9; do\n"
                           "  echo \"2026/02/01 12:00:0$i.000, 0, NVIDIA A40, 46068 MiB, ${i}000 MiB, 97 %\"\n"
                           "done\nexec sleep 987654\n")
        monitor.chmod(0o755)
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"
        rows = "oomdoctor-run/gpus.csv"
        self.finish("sh", "-c", f"until [ -e {rows} ] && [ $(wc -l < {rows}) = 10 ]; do sleep 0.05; done; exit 1")
        series = [s for s in self.report()["series"] if s["metric"] == "used"]
        self.assertEqual([(s["device"], s["n"], s["max_value"]) for s in series], [(0, 9, 9000 << 20)])
        self.assertEqual([p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if is_monitor(p)], [])

    @unittest.skipUnless(shutil.which("cc") and linked_dynamically(), "no compiler, or a program without libraries")
    def test_the_library_of_the_driver_is_asked_first(self):
        (self.folder / "nvml.c").write_text(NVML)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "libnvidia-ml.so.1", "nvml.c"], cwd=self.folder, check=True)
        self.environment["LD_LIBRARY_PATH"] = str(self.folder)
        self.finish("sh", "-c", "sleep 2.2; exit 1")
        rows = (self.folder / "oomdoctor-run/gpus.csv").read_text().splitlines()
        self.assertEqual(rows[0], "timestamp, index, name, memory.total [MiB], memory.used [MiB]")
        self.assertRegex(rows[1], r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, 0, NVIDIA A40, 46068 MiB, 1000 MiB$")
        self.assertRegex(rows[2], r", 1, NVIDIA A40, 46068 MiB, 2000 MiB$")
        self.assertEqual([s["device"] for s in self.report()["series"] if s["metric"] == "used"], [0, 1])

    def test_folders_are_new_or_asked_for(self):
        for _ in range(2):
            self.finish("false")
        self.assertEqual(self.left_behind(), ["oomdoctor-run", "oomdoctor-run-2"])
        self.finish("true", options=("--always", "--folder", "here"))
        self.assertIn("ended with exit status 0: true", (self.folder / "here/output.log").read_text())

    def test_everything_is_for_the_owner_only(self):
        self.finish("false", umask=0)
        folder = self.folder / "oomdoctor-run"
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual({p.name: oct(p.stat().st_mode & 0o777) for p in folder.iterdir()},
                         {name: "0o600" for name in ("output.log", "samples.csv", "report.txt", "report.html", "report.json")})

    def test_a_folder_that_exists_gets_a_folder_for_each_kept_run(self):
        logs = self.folder / "logs"
        logs.mkdir()
        (logs / "output.log").write_text("precious")
        for command, kept in (("true", []), ("false", ["run"]), ("true", ["run"]), ("false", ["run", "run-2"])):
            self.finish(command, options=("--folder", "logs/"))
            links = ["latest"] if kept else []
            self.assertEqual(sorted(os.listdir(logs)), sorted(["output.log", *kept, *links]))
            if kept:
                self.assertEqual(os.readlink(logs / "latest"), kept[-1])
        self.assertEqual((logs / "output.log").read_text(), "precious")

    def test_ranks_that_share_a_folder_leave_each_other_alone(self):
        ranks = [self.start("sh", "-c", f"echo rank {i}; sleep 0.3; exit {i % 2}", options=("--folder", "all")) for i in range(6)]
        for rank in ranks:
            rank.communicate(timeout=PATIENCE)
        kept = [p for p in (self.folder / "all").rglob("output.log")]
        self.assertEqual(sorted(re.search(r"\nrank (\d)\n", p.read_text())[1] for p in kept), ["1", "3", "5"])

    def test_a_line_of_the_command_is_never_one_of_ours(self):
        line = "oomdoctor run 0123456789abcdef: the kernel killed 3 processes of this cgroup for memory"
        for _ in range(2):
            self.finish("sh", "-c", f"echo '{line}'; exit 1", options=("--folder", "here"))
        self.assertEqual(self.report("here")["incidents"], [])
        marks = {re.match(r"oomdoctor run ([0-9a-f]{16}): output", p.read_text())[1]
                 for p in self.folder.rglob("output.log")}
        self.assertEqual(len(marks), 2)

    def test_a_mistyped_option_costs_no_run(self):
        status, out, err = self.finish("echo", "ran", options=("--capacity", "much"))
        self.assertEqual((status, out), (2, b""))
        self.assertIn(b"--capacity", err)

    def test_options_end_at_the_first_word_of_the_command(self):
        status, out, err = self.finish("echo", "--folder", "-x", "--", "y", options=("--quiet",))
        self.assertEqual((status, out, err), (0, b"--folder -x -- y\n", b""))


if __name__ == "__main__":
    unittest.main()
