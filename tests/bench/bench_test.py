"""scripts/bench runs to its end on small logs, and does not believe a program that did not do its job.

OOMDOCTOR_BINARY names the program. Tools beside it that are not installed are left out, as the script does.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
LOGS = ["sparse", "dense", "csv", "bar", "gzip", "zstd", "small", "survey", "ranks", "trace", "gigabyte"]


def bench(*words, binary=BINARY):
    return subprocess.run([sys.executable, ROOT / "scripts" / "bench", "--quick", *words], capture_output=True, text=True,
                          env={**os.environ, "OOMDOCTOR_BINARY": str(binary)}, timeout=600)


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_log_is_read_and_told(self):
        page = self.folder / "performance.md"
        done = bench("--write", str(page))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = page.read_text()
        for log in LOGS:
            if log == "zstd" and shutil.which("zstd") is None:
                self.assertIn("left out: ", done.stdout)
                continue
            self.assertRegex(done.stdout, rf"(?m)^{log} +[\d.]+ +[\d.]+ +\d+ +\d+$")
            self.assertRegex(text, rf"(?m)^\| {log} \| [\d.]+ MB \| \d+ MiB \| ")
        for what in ("one log", "a survey of 1,000 jobs", "one case of 5,000 ranks", "one short log",
                     "a snapshot of 1,000,000 events"):
            self.assertRegex(text, rf"(?m)^\| {what}, \d+ [kM]B \| [\d.]+ m?s \|")
        self.assertRegex(text, r"(?m)^\| sparse \| `wc -l` \| [\d.]+ \|$")
        self.assertRegex(text, r"(?m)^In the ranks, each log takes [\d.]+ times as long as with a tenth of the logs\.$")
        self.assertIn("| oomdoctor | oomdoctor ", text)
        for command in ("run", "watch"):
            self.assertRegex(text, rf"(?m)^\| `oomdoctor {command}`, .* \| [\d.]+ times as fast ")
            self.assertRegex(text, rf"(?m)^\| `oomdoctor {command}`, .* \| [\d.]+% of one core, \d+ MiB \|$")

    def test_a_job_not_done_is_no_figure(self):
        page = self.folder / "performance.md"
        lazy = self.folder / "lazy"
        for says, fault in (("echo done", "printed no report of one input"),
                            (f"head -n 5 \"$6\" >\"$0.log\"; exec {BINARY} analyze --format json \"$0.log\"", "lines 5, not ")):
            lazy.write_text(f"#!/bin/sh\n{says}\n")
            lazy.chmod(0o755)
            done = bench("--only", "small", "--write", str(page), binary=lazy)
            self.assertEqual(done.returncode, 1)
            self.assertIn("not done: small: oomdoctor: " + fault, done.stderr)
            self.assertFalse(page.exists())


if __name__ == "__main__":
    unittest.main()
