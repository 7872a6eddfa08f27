"""A command under oomdoctor run sees what it sees without it, and so do its parent and whoever reads its outputs: to the byte
and to the status. Each cell of a table starts one child in one place twice, without run and with it, and compares.

OOMDOCTOR_BINARY names the program. An argument chooses the cells whose child or place contains it.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from children import CHILDREN, SENT, shell  # noqa: E402
from places import INPUT, PLACES, Job, other_user  # noqa: E402

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
SIDE_BY_SIDE = 4
# What oomdoctor says on standard error, after all that the command said: notes, and a report after an empty line.
OWN = re.compile(rb"(\r?\n[A-Z].*)?(oomdoctor: .*)?", re.S)

# Libraries in the place of NVIDIA's.
NVML = """\
#include <string.h>
#include <unistd.h>
static int calls;
static void trouble(void) { TROUBLE }
int nvmlInit_v2(void) { if (AT == 0) trouble(); return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = COUNT; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) { *device = (void*)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned size) { memset(name, 'x', size); return 0; }
struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(void* device, struct memory* m) {
  if (AT == 1 && ++calls > 1) trouble();
  m->total = -1; m->free = -1; m->used = -1;
  return 0;
}
"""
LIBRARIES = {"hangs at once": ("for (;;) pause();", 0, 1), "hangs later": ("for (;;) pause();", 1, 1),
             "crashes": ("*(volatile int*)0 = 1;", 0, 1), "crashes later": ("*(volatile int*)0 = 1;", 1, 1),
             "ends": ("_exit(0);", 0, 1), "lies": ("", 2, "0x7fffffff"), "has no GPU": ("", 2, 0)}
MONITORS = {"hangs": "exec sleep 600", "floods": "exec yes 'timestamp, index, name, 1 MiB, 99999999999999999999 MiB'",
            "prints rubbish": "head -c 3000000 /dev/urandom", "crashes": "kill -SEGV $$"}


def linked_dynamically():
    """Whether the program loads shared libraries: it names a loader."""
    return b"/ld-linux" in pathlib.Path(BINARY).read_bytes()[:4096]


# --- what the parent does ---

def feeds(job):
    if job.terminal:
        job.wait_for(b"ready")  # what is typed before is shown by the terminal, too
    job.type(INPUT if not job.terminal else b"0123456789\n\x04")


def sends_all(acknowledged, to_group=False):
    rest = [s for s in SENT if s != signal.SIGUSR2]

    def act(job):
        send = os.killpg if to_group else os.kill
        job.wait_for(b"ready")
        for number in [*rest, signal.SIGCONT]:
            send(job.process.pid, number)
            if acknowledged and number != signal.SIGCONT:
                job.wait_for(b"got %d\n" % number)
        if acknowledged:
            job.wait_for(b"got 18\n")
        send(job.process.pid, signal.SIGUSR2)
    return act


def sends(number, to_group=False):
    def act(job):
        job.wait_for(b"ready")
        (os.killpg if to_group else os.kill)(job.process.pid, number)
        if number in (signal.SIGURG, signal.SIGWINCH, signal.SIGCONT):  # nothing happens
            job.pump(0.2)
            os.killpg(job.process.pid, signal.SIGKILL)
    return act


def continues(job):
    if not job.terminal:
        job.until(lambda: job.has_ended() or job.stopped, "stop")
        os.kill(job.process.pid, signal.SIGCONT)


def sees_end_of_output(job):
    job.until(lambda: job.output in job.at_end, "end of standard output")
    (job.folder / "at_end").touch()


def sees_no_reader(job):
    job.let_go_of_input()

    def refused():
        try:
            os.write(job.input, b"x")
        except BrokenPipeError:
            return True
        time.sleep(0.01)
        return False
    job.until(refused, "closed input")
    (job.folder / "no_reader").touch()


def ends_daemon(job):
    job.until(lambda: job.has_ended() and len(job.at_end) == len(job.seen), "end in spite of a daemon")
    os.kill(int((job.folder / "daemon").read_text()), signal.SIGKILL)


def goes_away(job):
    job.wait_for(b"y\n")
    job.close_output()


def types(job):
    job.wait_for(b"ready")
    job.type(b"line\n")
    job.wait_for(b"read line")
    for key, number in ((b"\x03", 2), (b"\x1c", 3)):
        job.type(key)
        job.wait_for(b"got %d\r\n" % number)
    job.type(b"\x1a")
    job.until(lambda: (job.folder / "stops").exists(), "stop")
    job.wait_for(b"on again")  # until then, the terminal is the shell's
    job.type(b"end\n")


# --- the table ---

ACTS = {"reads all": feeds, "reads ten": feeds, "closes outputs": sees_end_of_output,
        "closes input": sees_no_reader, "silent daemon": ends_daemon, "handles": sends_all(True), "ignores": sends_all(False),
        "stops": continues, "suspends": continues, "yes": goes_away, "typed": types}
EVERYWHERE = ("nothing", "prints", "writes", "sees", "execs")
PIPES_ONLY = {"closes outputs", "closes input", "handles", "ignores", "yes", "waits"}
AT_TERMINAL = {"opens terminal", "typed"}


def reason_to_skip(child, place):
    """Why a cell has no meaning, as one character; None if it has one."""
    of_terminal = "terminal" in place
    if child in AT_TERMINAL and not of_terminal:
        return "t"  # needs a terminal
    if child in AT_TERMINAL and place != "terminal":
        return "1"  # both outputs are the terminal
    if child in PIPES_ONLY and place != "pipes":
        return "p"  # the parent must see the other end of a pipe
    if child.startswith("floods") and of_terminal:
        return "s"  # slow, and "binary" shows it
    if child == "suspends" and not of_terminal:
        return "o"  # the kernel stops no program whose group has no shell
    if child == "floods both" and "one" in place:
        return "b"  # both write at the same time, in any order
    if child == "sees" and place == "no output":
        return "n"  # a pipe is in the place of /dev/null, so that the output is recorded
    if child == "silent daemon" and (of_terminal or place in ("files of 0 bytes",)):
        return "d"  # the daemon is found by a file, and a terminal hangs it up
    if place in SMALL and child not in EVERYWHERE:
        return "e"  # one thing of a place that changes nothing for the others
    return None


SMALL = {p for p in PLACES if p.startswith(("closed", "files of", "SIG", "signals", "no home", "7 files", "16 files"))
         or p.endswith("of space")}


class Cell:
    def __init__(self, child, place, words, act=None, how=None, prefix=()):
        self.child, self.place, self.words, self.act = child, place, list(words), act
        self.how, self.prefix = PLACES[place] if how is None else how, list(prefix)

    def observe(self, under, root):
        folder = pathlib.Path(tempfile.mkdtemp(dir=root))
        how = dict(self.how)
        if self.prefix:
            folder.chmod(0o755)
        words = [*self.prefix, *([BINARY, "run", "--quiet"] if under else []), *self.words]
        job = Job(folder, words, **how)
        try:
            if self.act:
                self.act(job)
            return job.finish()
        finally:
            job.stop()

    def compare(self, root):
        """What differs, in words; "" if nothing does."""
        try:
            alone, under = self.observe(False, root), self.observe(True, root)
        except Exception:
            return traceback.format_exc(limit=-2)
        differences = []
        for key in sorted(alone.keys() | under.keys()):
            a, b = alone.get(key), under.get(key)
            if key == "outputs":
                of_errors = [i == len(a) - 1 or "terminal" in self.how for i in range(len(a))]
                differences += [f"output {i}: {shown(x, y)}" for i, (x, y) in enumerate(zip(a, b))
                                if not (is_same_but_own(x, y) if of_errors[i] else x == y)]
            elif key == "err" or (key == "out" and "merged" in self.how):
                if not is_same_but_own(a, b or b""):
                    differences.append(f"{key}: {shown(a, b)}")
            elif a != b:
                differences.append(f"{key}: {shown(a, b)}")
        return "\n".join(differences)


def is_same_but_own(alone, under):
    """Whether `under` is `alone` with one piece that oomdoctor printed, at its beginning or after the command's end."""
    under = re.sub(rb"^(oomdoctor: [^\n]*\n)*", b"", under)
    common = next((i for i, (x, y) in enumerate(zip(alone, under)) if x != y), min(len(alone), len(under)))
    size = len(under) - len(alone)
    return size >= 0 and any(under[at + size:] == alone[at:] and OWN.fullmatch(under[at:at + size])
                             for at in range(max(common - 2, 0), common + 1))


def shown(alone, under):
    if isinstance(alone, bytes) and isinstance(under, bytes):
        at = next((i for i, (x, y) in enumerate(zip(alone, under)) if x != y), min(len(alone), len(under)))
        alone, under = (f"{len(t)} bytes, …{t[max(at - 60, 0):at + 200]!r}" for t in (alone, under))
    return f"\n  alone      {alone}\n  under run  {under}"


def driver_cells(root):
    how, child = PLACES["pipes"], "takes a second"
    if shutil.which("cc") and linked_dynamically():
        for name, (trouble, at, count) in LIBRARIES.items():
            folder = pathlib.Path(root) / f"library {name}"
            folder.mkdir()
            (folder / "nvml.c").write_text(NVML)
            subprocess.run(["cc", "-shared", "-fPIC", "-w", f"-DTROUBLE={trouble}", f"-DAT={at}", f"-DCOUNT={count}", "-o",
                            folder / "libnvidia-ml.so.1", folder / "nvml.c"], check=True)
            yield Cell(child, f"library {name}", CHILDREN[child],
                       how={**how, "environment": {"LD_LIBRARY_PATH": str(folder)}})
    for name, script in MONITORS.items():
        folder = pathlib.Path(root) / f"monitor {name}"
        folder.mkdir()
        (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "nvidia-smi").chmod(0o755)
        yield Cell(child, f"monitor {name}", CHILDREN[child],
                   how={**how, "environment": {"PATH": f"{folder}:{os.environ['PATH']}"}})


def all_cells(root):
    for child, words in CHILDREN.items():
        for place in PLACES:
            if reason_to_skip(child, place) is None and child not in ("waits", "takes a second"):
                yield Cell(child, place, words, ACTS.get(child))
    for number in [*SENT, signal.SIGCONT, signal.SIGKILL]:
        yield Cell("waits", f"gets {number}", CHILDREN["waits"], sends(number), PLACES["pipes"])
    for name, acknowledged in (("handles", True), ("ignores", False)):
        yield Cell(name, "its group", CHILDREN[name], sends_all(acknowledged, to_group=True), PLACES["pipes"])
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL):
        yield Cell("waits", f"its group gets {number}", CHILDREN["waits"], sends(number, True), PLACES["pipes"])
    for number in (*range(1, 17), *range(23, 32), 34, 50, 64):
        yield Cell("dies", f"by {number}", shell(f"echo words; kill -{number} $$; sleep 0.1; echo alive"), how=PLACES["pipes"])
    for status in (*range(0, 256, 5), 1, 2, 126, 127, 128, 129, 254):
        yield Cell("ends", f"with {status}", shell(f"exit {status}"), how=PLACES["pipes"])
    yield Cell("waits", "alarm", CHILDREN["waits"], how={"before": lambda: signal.setitimer(signal.ITIMER_REAL, 0.3)})
    if user := other_user():
        for child in ("prints", "reads all", "execs"):
            yield Cell(child, "folder of another", CHILDREN[child], ACTS.get(child), PLACES["pipes"], user)
    yield from driver_cells(root)


def print_table(results):
    columns = [p for p in PLACES]
    for i, place in enumerate(columns):
        print("  " + "│ " * i + "┌ " + place)
    for child in CHILDREN:
        if child in ("waits", "takes a second"):
            continue
        row = [results.get((child, p), reason_to_skip(child, p) or " ") for p in columns]
        print("  " + " ".join(row) + "  " + child)
    beside = {k: v for k, v in results.items() if k[1] not in PLACES}
    for child in sorted({c for c, _ in beside}):
        print(f"  {child}: " + ", ".join(f"{p} {v}" for (c, p), v in beside.items() if c == child))
    print("  = equal, ! different; a letter: the cell has no meaning, see reason_to_skip()")


def main():
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    results, failures, begin = {}, [], time.monotonic()
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as workers:
        os.chmod(root, 0o755)
        cells = [c for c in all_cells(root) if chosen in c.child or chosen in c.place]
        for cell, difference in zip(cells, workers.map(lambda c: c.compare(root), cells)):
            results[cell.child, cell.place] = "!" if difference else "="
            if difference:
                failures.append(f"{cell.child} × {cell.place}:\n{difference}\n")
    print_table(results)
    print(f"{len(results)} cells, {len(failures)} different, {time.monotonic() - begin:.0f} s")
    for failure in failures:
        print("\n" + failure)
    return 1 if failures or not results else 0


if __name__ == "__main__":
    sys.exit(main())
