"""Commands for the test of transparency: each does one thing that a program may do to its outputs, its signals, its terminal
or its parent. CHILDREN has them by name. A child may write what it saw into the file $SIDE.
"""
import signal
import sys

# Signals that may be sent to a program; SIGKILL and SIGSTOP need no handler.
SENT = [s for s in (1, 2, 3, 10, 12, 14, 15, 23, 24, 25, 26, 27, 28, 29, 30, signal.SIGRTMIN, signal.SIGRTMAX)]

HANDLERS = f"""\
import os, signal, time
got = []
for number in {[int(s) for s in SENT] + [18]}:
    signal.signal(number, HANDLER)
print("ready", flush=True)
while "end" not in got:
    time.sleep(0.02)  # a signal just before signal.pause() would not end it
print(len(got), flush=True)
"""
HANDLES = HANDLERS.replace("HANDLER", "lambda n, f: (got.append('end' if n == 12 else n), os.write(1, b'got %d\\n' % n))")
IGNORES = HANDLERS.replace("HANDLER", "signal.SIG_IGN if number != 12 else lambda n, f: got.append('end')")

BINARY = "import os; [os.write(i, bytes(range(256)) * 40) for i in (1, 2)]"

SEES = """\
import fcntl, json, os, resource, signal, stat, termios
def kind(i):
    try:
        s = os.fstat(i)
    except OSError:
        return None
    named = [n for n in ("S_ISCHR", "S_ISREG", "S_ISFIFO", "S_ISSOCK", "S_ISBLK") if getattr(stat, n)(s.st_mode)]
    path = os.readlink(f"/proc/self/fd/{i}") if stat.S_ISREG(s.st_mode) or stat.S_ISCHR(s.st_mode) else ""
    flags = fcntl.fcntl(i, fcntl.F_GETFL) & (os.O_APPEND | os.O_NONBLOCK | os.O_ACCMODE)
    return named, "pts" if path.startswith("/dev/pts/") else os.path.basename(path), flags, os.isatty(i)
def terminal(i):
    if kind(i) is None or not os.isatty(i):
        return None
    return repr(termios.tcgetattr(i)), tuple(os.get_terminal_size(i)), os.tcgetpgrp(i) == os.getpgrp()
def has_terminal():
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
        return True
    except OSError:
        return False
state = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
files = sorted(int(i) for i in os.listdir("/proc/self/fd"))
seen = {"files": [(i, kind(i)) for i in files if kind(i) is not None],
        "terminals": [terminal(i) for i in range(3)], "has a terminal": has_terminal(),
        "signals": {k: state[k] for k in ("SigBlk", "SigIgn", "SigPnd", "ShdPnd")},
        "limits": [resource.getrlimit(i) for i in range(16)], "mask": state.get("Umask"), "nice": os.nice(0),
        "oom": open("/proc/self/oom_score_adj").read(), "groups": state["Groups"], "user": state["Uid"],
        "privileges": state.get("NoNewPrivs"),
        "environment": sorted((k, v) for k, v in os.environ.items() if k not in ("_", "SIDE", "PWD", "OLDPWD"))}
with open(os.environ["SIDE"], "w") as side:
    json.dump(seen, side)
"""

WRITES = """\
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
said = []
for i in (1, 2):
    for n in (1, 5000):
        try:
            said.append(os.write(i, b"x" * n))
        except OSError as error:
            said.append(error.errno)
try:
    with open("written", "wb", buffering=0) as file:
        said += [file.write(b"y" * 5000), file.write(b"y" * 5000)]
except OSError as error:
    said.append(error.errno)
try:
    open(os.environ["SIDE"], "w").write(repr(said)[:1000])
except OSError:
    pass
"""

# A signal just before a blocking read would wait for the read's end: Python runs its handlers between two instructions.
TYPED = """\
import os, select, signal, sys
woken, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
for number in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda n, f: os.write(1, b"got %d\\n" % n))
signal.signal(signal.SIGCONT, lambda n, f: os.write(1, b"on again\\n"))
print("ready", flush=True)
while True:
    ready = select.select([0, woken], [], [])[0]
    if woken in ready:
        os.read(woken, 100)
        continue
    line = os.read(0, 100)
    print("read", line.decode().strip(), flush=True)
    if line == b"end\\n":
        sys.exit(5)
"""

AGAIN = """\
import os
for i in (1, 2):
    os.close(i)
os.close(0)
terminal = os.open("/dev/tty", os.O_RDWR)
os.write(terminal, b"again\\n")
for i in (1, 2):
    os.dup2(terminal, i)
os.write(2, b"and again\\n")
"""


def shell(text):
    return ["sh", "-c", text]


def python(text):
    return [sys.executable, "-S", "-c", text]


CHILDREN = {
    "nothing": shell(":"),
    "prints": shell("echo out; printf 'no end'; echo err >&2"),
    "interleaved": shell("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; exit 4"),
    "binary": python(BINARY),
    "floods": shell("head -c 20000000 /dev/zero | tr '\\0' 'x'; exit 9"),
    "floods both": shell("head -c 5000000 /dev/zero | tr '\\0' 'x' & head -c 5000000 /dev/zero | tr '\\0' 'y' >&2; wait"),
    "reads all": shell("echo ready; cat"),
    "reads ten": shell("echo ready; dd bs=1 count=10 2>/dev/null"),
    "writes": python(WRITES),
    "sees": python(SEES),
    "closes outputs": shell("echo last; exec >&-; i=0; while [ ! -e at_end ]; do sleep 0.02; i=$((i+1)); [ $i = 500 ] && exit 1; done; exit 0"),
    "closes input": shell("exec <&-; i=0; while [ ! -e no_reader ]; do sleep 0.02; i=$((i+1)); [ $i = 500 ] && exit 1; done; exit 0"),
    "opens terminal": python(AGAIN),
    "late daemon": shell("(sleep 0.4; echo late; echo later >&2) & echo now; exit 6"),
    "silent daemon": shell("sleep 600 </dev/null >/dev/null 2>&1 & echo $! >daemon; echo now"),
    "handles": python(HANDLES),
    "ignores": python(IGNORES),
    "stops": shell("kill -STOP $$; echo on; exit 8"),
    "suspends": shell("kill -TSTP $$; echo on; exit 8"),
    "execs": shell("exec sh -c 'exec sh -c \"echo third; exit 5\"'"),
    "waits": shell("echo ready; exec sleep 600"),
    "typed": python(TYPED),
    "yes": shell("exec yes"),
    "takes a second": shell("sleep 1.3; echo done; exit 3"),
}
