"""Every call of open, read, write, fsync and rename fails in turn, with several errors and with a single byte in place of
all. What comes out is the usual, or a sentence, or a report that names what is lost; a file that is written is there whole
or as it was before. One log or report that fails costs only itself.

OOMDOCTOR_BINARY names the program, OOMDOCTOR_IO_FAULTS the library that is preloaded into it (io.cc).
"""
import errno
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BINARY = os.path.abspath(os.environ["OOMDOCTOR_BINARY"])
FAULTS = os.path.abspath(os.environ["OOMDOCTOR_IO_FAULTS"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
MOST_CALLS = 400
# With a sanitizer, each error befalls one call in so many, other calls than the next error: as for samples (tests/CMakeLists.txt).
ONE_CALL_IN = int(os.environ.get("OOMDOCTOR_ONE_SAMPLE_IN", "1"))
NAMES = {".json": "json", ".html": "html", ".md": "markdown"}
OLD = "what was there before\n"
DIGEST = re.compile(rb'"digest":"[0-9a-f]{32}"')


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.outputs = {}

    def run_with(self, words, stdin, call=None, error=None):
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "GITHUB_ACTIONS", "COLUMNS")}
        environment |= {"LD_PRELOAD": FAULTS, "OOMDOCTOR_FAILED": str(self.folder / "failed"), "ASAN_OPTIONS":
                        "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        if call is not None:
            environment |= {"OOMDOCTOR_FAIL_CALL": str(call), "OOMDOCTOR_FAIL_WITH": str(error)}
        with open(stdin or os.devnull, "rb") as source:
            return subprocess.run([BINARY, *map(str, words)], stdin=source, capture_output=True, env=environment,
                                  cwd=self.folder, timeout=60)

    def results(self, done, outputs):
        return done.returncode, done.stdout, [path.read_bytes() if path.exists() else None for path in outputs]

    def fail_in_turn(self, *words, stdin=None, outputs=(), harmless=(errno.EINTR, "short"), harmful=(errno.EIO, errno.ENOSPC)):
        """harmless: with these all is as without; harmful: with these a sentence may come in its place."""
        def reset():
            for path in outputs:
                path.write_text(OLD)

        reset()
        usual = self.run_with(words, stdin)
        expected = self.results(usual, outputs)
        self.assertIn(usual.returncode, (0, 1), usual.stderr)
        before = sorted(p.name for p in self.folder.rglob("*"))
        for number, error in enumerate((*harmless, *harmful)):
            for call in range(number % ONE_CALL_IN, MOST_CALLS, ONE_CALL_IN):
                reset()
                failed = self.folder / "failed"
                failed.unlink(missing_ok=True)
                done = self.run_with(words, stdin, call, error)
                with self.subTest(words=[str(w) for w in words], error=error, call=call):
                    if error in harmless:
                        self.assertEqual(self.results(done, outputs), expected, done.stderr)
                    else:
                        self.assert_nothing_lost(done, outputs, expected)
                    left = sorted(p.name for p in self.folder.rglob("*") if p != failed)
                    self.assertEqual(left, before)
                if not failed.exists():
                    self.assertGreater(call, 0)
                    break
            else:
                self.fail("the program makes more calls than this test follows")

    def assert_nothing_lost(self, done, outputs, expected):
        """In silence, that is."""
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        said = b"oomdoctor: " in done.stderr or b"lost" in done.stdout.lower()
        changed = DIGEST.sub(b"", done.stdout) != DIGEST.sub(b"", expected[1])  # a part without one is named by its text
        if done.returncode == 2 or changed:
            self.assertTrue(said, (done.stdout, done.stderr))
        if changed:
            self.assertLessEqual(done.stdout.count(b"NO SIGN"), max(expected[1].count(b"NO SIGN") - 1, 0))
        written = [path.read_bytes() for path in outputs]
        changed = [text for text, whole in zip(written, expected[2]) if text not in (whole, OLD.encode())]
        for text in changed:  # the report of a log that was not read to its end
            self.assertIn(b"lost", text.lower())
        if done.returncode != 2:
            self.assertNotIn(OLD.encode(), written)
        if len(outputs) > 1 and done.returncode == 2 and OLD.encode() in written and b"cannot write" in done.stderr:
            self.assertEqual(written.count(OLD.encode()), 1)

    def test_a_log_and_three_reports(self):
        outputs = [self.folder / name for name in ("report.json", "report.html", "report.md")]
        words = [w for path in outputs for w in ("--output", f"{NAMES[path.suffix]}={path}")]
        self.fail_in_turn("analyze", SAMPLES / "stories" / "malloc_async.log", *words, outputs=outputs)

    def test_a_table(self):
        self.fail_in_turn("analyze", SAMPLES / "smi_query" / "mig_ids.log", "--format", "json")

    def test_a_gzip_archive(self):
        packed = self.folder / "train.log.gz"
        packed.write_bytes(gzip.compress((SAMPLES / "stories" / "leak.log").read_bytes()))
        self.fail_in_turn("analyze", packed, "--format", "json")

    def test_standard_input(self):
        self.fail_in_turn("analyze", "-", stdin=SAMPLES / "kernel" / "cut_group.log")

    def test_the_logs_of_a_job(self):
        logs = []
        for rank in range(3):
            logs.append(self.folder / f"rank_{rank}.log")
            shutil.copy(SAMPLES / "prescriptions" / "hf_first_update.log", logs[-1])
        self.fail_in_turn("analyze", *logs, "--jobs", "1")

    def test_a_job_of_which_one_log_fails(self):
        """The failing log costs only itself: what the others show stays."""
        for name, sample in (("a.log", "stories/leak.log"), ("b.log", "prescriptions/hf_first_update.log")):
            shutil.copy(SAMPLES / sample, self.folder / name)
        outcomes = set()
        for call in range(MOST_CALLS):
            failed = self.folder / "failed"
            failed.unlink(missing_ok=True)
            done = self.run_with(["analyze", "a.log", "b.log", "--jobs", "1", "--format", "json"], None, call, errno.EIO)
            if not failed.exists():
                break
            if done.returncode == 2 and not done.stdout:
                continue  # the call did not belong to a log
            report = json.loads(done.stdout)
            outcomes.add((report["verdict"]["outcome"], "lost" in report))
            self.assertNotEqual(report["verdict"]["outcome"], "no_oom")
        self.assertIn(("oom", True), outcomes)

    def test_a_format_of_ones_own(self):
        own = ROOT / "docs" / "own_formats"
        self.fail_in_turn("analyze", own / "train.log", "--format-file", own / "oomdoctor.toml", "--format", "json")

    def test_parts_and_their_merging(self):
        log = SAMPLES / "several_runs" / "last_is_unfinished.log"
        self.fail_in_turn("analyze", log, "--format", "partial")
        part = self.folder / "part.jsonl"
        part.write_bytes(self.run_with(["analyze", log, "--format", "partial"], None).stdout)
        report = self.folder / "merged.json"
        self.fail_in_turn("merge", part, "--output", f"json={report}", outputs=[report])

    def test_two_runs_compared(self):
        folder = SAMPLES / "compare"
        self.fail_in_turn("compare", folder / "before.log", folder / "after.log")

    def test_an_explanation(self):
        self.fail_in_turn("explain", "leak", SAMPLES / "stories" / "leak.log")

    def test_a_folder_that_is_searched(self):
        shutil.copy(SAMPLES / "stories" / "leak.log", self.folder / "train.log")
        shutil.copy(SAMPLES / "smi_query" / "mig_ids.log", self.folder / "smi.csv")
        # The standard library lists folders, and does not ask again where a signal came in between.
        self.fail_in_turn("analyze", self.folder, harmless=("short",))


if __name__ == "__main__":
    unittest.main()
