"""A day of oomdoctor watch in a minute: a million lines, rotation, emptied files. Memory stays bounded, and the last
report is that of analyze on the same bytes. OOMDOCTOR_BINARY names the program.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from watching import BINARY, Writer  # noqa: E402

LINES, PIECE = 1_000_000, 5_000
MAX_RSS = 32 << 20


def peak(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise ValueError("no VmHWM")


class Soak(unittest.TestCase):
    def test_a_day(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "whole").mkdir()
            log = Writer(folder / "train.log", folder / "whole" / "train.log")
            log.write(b"")
            with subprocess.Popen([BINARY, "watch", "train.log", "--format", "json", "--every", "0.5s", "--capacity",
                                   "79.15GiB"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True) as running:
                for piece in range(LINES // PIECE):
                    first = piece * PIECE + 1
                    log.write("".join(
                        f"[rank{i % 8}] 2026-02-01 {i // 41667:02}:{i // 695 % 60:02}:{i // 12 % 60:02} step {i // 8} "
                        f"loss {2.4 - i / LINES:.4f} allocated {20 + i / LINES * 40 + i % 7 / 100:.2f} GiB\n"
                        for i in range(first, first + PIECE)).encode())
                    if piece % 20 == 19:
                        time.sleep(0.6)
                        (log.empty if piece % 40 == 19 else log.replace)()
                        time.sleep(0.6)
                time.sleep(1)
                memory = peak(running.pid)
                running.send_signal(signal.SIGTERM)
                out, _ = running.communicate(timeout=120)
            last = json.loads(out[out.index("{\n"):])
            same = subprocess.run([BINARY, "analyze", "--format", "json", "--capacity", "79.15GiB", "train.log"],
                                  cwd=folder / "whole", capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(last, json.loads(same.stdout))
            self.assertEqual(last["coverage"]["lines"], LINES)
            print(f"peak of resident memory: {memory / (1 << 20):.1f} MiB")
            self.assertLess(memory, MAX_RSS)


if __name__ == "__main__":
    unittest.main()
