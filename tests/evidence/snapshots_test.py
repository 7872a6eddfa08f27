"""Allocator snapshots of every form and release, whole, cut and hostile, read by the program that OOMDOCTOR_BINARY names."""

import gzip
import json
import os
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

import make_snapshots

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))

# What must not depend on how a job was written down.
OF_A_FORM = ("path", "form", "protocol")
OF_A_RELEASE = (*OF_A_FORM, "torch")


def run_in(folder, *words):
    return subprocess.run([BINARY, *words], cwd=folder, capture_output=True, timeout=60, check=False)


def report_of(folder, *names):
    done = subprocess.run([BINARY, "analyze", "--fail-on", "never", "--format", "json", *names], cwd=folder,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


class Snapshots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.held.cleanup)
        cls.folder = Path(cls.held.name)
        cls.reports = {}
        for name, job, release, form, data in make_snapshots.files(make_snapshots.JOBS):
            (cls.folder / name).write_bytes(data)
            cls.reports[job, release, form] = report_of(cls.folder, name)

    def snapshot(self, job, release, form="pickle4"):
        snapshots = self.reports[job, release, form]["snapshots"]
        self.assertEqual(len(snapshots), 1, (job, release, form))
        return snapshots[0]

    def without(self, fields, snapshot):
        return {key: value for key, value in snapshot.items() if key not in fields}

    def test_the_files_are_what_torch_writes(self):
        make_snapshots.check()

    def test_each_form_says_the_same(self):
        for (job, release, form), report in self.reports.items():
            with self.subTest(job=job, release=release, form=form):
                one, other = self.snapshot(job, release, form), self.snapshot(job, release)
                self.assertEqual(self.without(OF_A_FORM, one), self.without(OF_A_FORM, other))
                self.assertEqual(one["form"], form.rstrip("0123456789"))
                self.assertEqual(one["protocol"], {"json": None, "html": 4}.get(form, int(form[-1]) if form[-1].isdigit() else 0))
                self.assertEqual(report["verdict"]["outcome"],
                                 self.reports[job, release, "pickle4"]["verdict"]["outcome"])

    def test_each_release_is_recognised(self):
        for job, release, form in self.reports:
            with self.subTest(job=job, release=release, form=form):
                self.assertEqual(self.snapshot(job, release, form)["torch"], release)

    def test_a_trace_says_the_same_in_each_release(self):
        for job in make_snapshots.JOBS:
            newest = self.without(OF_A_RELEASE, self.snapshot(job, "2.12"))
            for release in make_snapshots.RELEASES[1:]:
                with self.subTest(job=job, release=release):
                    self.assertEqual(self.without((*OF_A_RELEASE, "own_incident"), self.snapshot(job, release)),
                                     self.without(("own_incident",), newest))

    def test_the_sums_are_those_of_the_allocator(self):
        for job in make_snapshots.JOBS:
            allocator = make_snapshots.run(job)
            blocks = [b for s in allocator.segments for b in s["blocks"]]
            snapshot = self.snapshot(job, "2.10")
            self.assertEqual(snapshot["reserved_bytes"], allocator.reserved)
            self.assertEqual(snapshot["live_bytes"], sum(b.requested for b in blocks if b.live))
            self.assertEqual(snapshot["free_cached_bytes"], sum(b.size for b in blocks if not b.live))
            self.assertEqual(snapshot["events"], len(allocator.events))

    def test_the_causes(self):
        self.assertEqual(self.reports["leak", "2.5", "pickle4"]["verdict"]["cause"], "leak")
        growth = self.snapshot("leak", "2.5")["growth"]
        self.assertEqual([(g["file"], g["line"], g["bytes_per_step"]) for g in growth],
                         [("/srv/birdsong/train.py", 55, 21 * make_snapshots.MIB + 512)])
        self.assertEqual(self.reports["pinned", "2.5", "pickle4"]["verdict"]["cause"], "fragmentation")
        pinners = self.snapshot("pinned", "2.5")["pinners"]
        self.assertEqual((pinners[0]["line"], pinners[0]["blocks"]), (74, 8))
        fits = {w["setting"]: w["fits"] for w in self.snapshot("pinned", "2.5")["what_if"]}
        self.assertEqual((fits["default"], fits["expandable_segments:True"]), (False, True))
        healthy = self.reports["healthy", "2.5", "pickle4"]["verdict"]
        self.assertEqual((healthy["outcome"], healthy.get("cause")), ("no_oom", None))

    def test_parts_lose_nothing(self):
        for job, release in (("leak", "2.5"), ("pinned", "2.12"), ("healthy", "2.3"), ("leak", "1.13")):
            name = f"{job}_{release}_pickle4.pickle"
            part = run_in(self.folder, "analyze", "--format", "partial", name).stdout
            (self.folder / "part.jsonl").write_bytes(part)
            for form in ("json", "html", "terminal"):
                with self.subTest(name=name, form=form):
                    words = ("--fail-on", "never", "--format", form)
                    self.assertEqual(run_in(self.folder, "merge", *words, "part.jsonl").stdout,
                                     run_in(self.folder, "analyze", *words, name).stdout)
            self.assertEqual(run_in(self.folder, "merge", "--format", "partial", "part.jsonl").stdout, part)
        (self.folder / "hostile.pickle").write_bytes(make_snapshots.hostile_pickles("canary")["global"][0])
        (self.folder / "part.jsonl").write_bytes(
            run_in(self.folder, "analyze", "--format", "partial", "hostile.pickle").stdout)
        merged = json.loads(run_in(self.folder, "merge", "--fail-on", "never", "--format", "json", "part.jsonl").stdout)
        self.assertEqual(merged, report_of(self.folder, "hostile.pickle"))

    def test_compressed_files(self):
        data = (self.folder / "leak_2.5_pickle4.pickle").read_bytes()
        (self.folder / "leak.pickle.gz").write_bytes(gzip.compress(data))
        report = report_of(self.folder, "leak.pickle.gz")
        self.assertEqual(self.without(("path",), report["snapshots"][0]),
                         self.without(("path",), self.snapshot("leak", "2.5")))

    def test_an_archive_of_rank_files(self):
        files = {f"rank{rank}_snapshot.pickle": (self.folder / f"leak_{release}_pickle4.pickle").read_bytes()
                 for rank, release in enumerate(("2.5", "2.8"))}
        with zipfile.ZipFile(self.folder / "ranks.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        report = report_of(self.folder, "ranks.zip")
        self.assertEqual([snapshot["path"] for snapshot in report["snapshots"]], [f"ranks.zip/{name}" for name in files])
        self.assertEqual([snapshot["rank"] for snapshot in report["snapshots"]], [0, 1])

    def test_a_checkpoint_is_an_archive_without_logs(self):
        with zipfile.ZipFile(self.folder / "step_100.pt", "w") as archive:
            archive.writestr("step_100/data.pkl", b"\x80\x02}q\x00.")
            archive.writestr("step_100/version", "3\n")
        report = report_of(self.folder, "step_100.pt")
        self.assertEqual([note.get("code") for note in report["notes"]], ["not_a_snapshot"])
        self.assertEqual(report["verdict"]["outcome"], "unrecognised")

    def test_a_cut_file_claims_nothing(self):
        for form, (ending, encode) in make_snapshots.ENCODERS.items():
            data = encode(make_snapshots.snapshot_of(make_snapshots.run("pinned"), "2.5"))
            for place, part in enumerate(make_snapshots.damaged(data)):
                if form == "html" and place >= 14:
                    continue  # the end of a page is not of the snapshot
                name = f"cut_{form}_{place}{ending}"
                (self.folder / name).write_bytes(part)
                with self.subTest(name=name):
                    report = report_of(self.folder, name)
                    self.assertIn(report["verdict"]["outcome"], ("no_oom", "unrecognised"))
                    for snapshot in report.get("snapshots", []):
                        self.assertIn(snapshot["failure"], ("none", "unknown"))
                        self.assertFalse(snapshot["growth"])
                    if form.startswith("pickle"):
                        self.assertIn("snapshot_cut", [note.get("code") for note in report["notes"]])

    def test_no_file_runs_code(self):
        for name, (data, words) in make_snapshots.hostile_pickles("canary").items():
            with self.subTest(name=name):
                (self.folder / "hostile.pickle").write_bytes(data)
                report = report_of(self.folder, "hostile.pickle")
                notes = " ".join(n["text"] for n in report["notes"] if n.get("code", "").startswith("snapshot_"))
                self.assertTrue(notes)
                for word in words:
                    self.assertIn(word, notes)
                self.assertNotIn("snapshots", report)
                self.assertFalse((self.folder / "canary").exists())


class ShortWay(unittest.TestCase):
    """oomdoctor snapshot."""

    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.held.cleanup)
        cls.folder = Path(cls.held.name)
        for name, job, release, form, data in make_snapshots.files(make_snapshots.JOBS):
            if (release, form) == ("2.5", "pickle4"):
                (cls.folder / f"{job}.pickle").write_bytes(data)
        for name, steps in (("early", 5), ("late", 9), ("rank0_snapshot", 5), ("rank1_snapshot", 9)):
            allocator = make_snapshots.CachingAllocator(8192 * make_snapshots.MIB)
            kept = make_snapshots.stack(55, "log_step")
            make_snapshots.train(allocator, steps, lambda step: allocator.allocate(21 * make_snapshots.MIB, kept))
            value = make_snapshots.snapshot_of(allocator, "2.5")
            (cls.folder / f"{name}.pickle").write_bytes(make_snapshots.ENCODERS["pickle4"][1](value))

    def screen(self, *names, form="terminal"):
        done = run_in(self.folder, "snapshot", "--width", "80", "--format", form, *names)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def test_one_screen(self):
        for names in (["leak.pickle"], ["pinned.pickle"], ["healthy.pickle"], ["early.pickle", "late.pickle"],
                      sorted(path.name for path in self.folder.glob("*.pickle"))):
            lines = self.screen(*names).splitlines()
            self.assertLessEqual(len(lines), 40, names)
            self.assertLessEqual(max(map(len, lines)), 80, names)

    def test_who_what_and_what_else(self):
        screen = self.screen("pinned.pickle")
        for words in ("400 MiB refused; the largest free block has 80 MiB", "enough is free, but in pieces",
                      "24 MiB unknown birdsong/train.py:74 in running_mean (8 blocks)",
                      "8 blocks of birdsong/train.py:74 in running_mean keep 584 MiB"):
            self.assertIn(words, " ".join(screen.split()))
        self.assertRegex(screen, r"default +max \S+ MiB reserved, it does not fit")
        self.assertRegex(screen, r"expandable_segments:True +max \S+ MiB reserved, the request fits")
        self.assertIn("OUT OF MEMORY  Fragmentation", "\n".join(screen.splitlines()[-2:]))
        self.assertRegex(self.screen("leak.pickle"), r"optimizer state +birdsong/train.py:40 in update")
        self.assertRegex(self.screen("healthy.pickle"), r"default +max 490 MiB reserved\n")

    def test_two_snapshots_differ_in_a_line(self):
        words = " ".join(self.screen("early.pickle", "late.pickle").split())
        self.assertIn("late.pickle has 84 MiB more live memory than early.pickle: +84 MiB "
                      "birdsong/train.py:55 in log_step", words)
        words = " ".join(self.screen("rank0_snapshot.pickle", "rank1_snapshot.pickle").split())
        self.assertIn("rank 1 has 84 MiB more live memory than rank 0: +84 MiB birdsong/train.py:55", words)
        self.assertNotIn("Differs", self.screen("early.pickle"))

    def test_other_formats(self):
        self.assertEqual(json.loads(self.screen("pinned.pickle", form="json")), report_of(self.folder, "pinned.pickle"))
        text = self.screen("early.pickle", "late.pickle", form="markdown")
        for words in ("| early.pickle | 0 |", "### Most memory", "| 105 MiB | birdsong/train.py:55", "**Differs:**", "`expandable_segments:True`"):
            self.assertIn(words, text)
        page = self.screen("pinned.pickle", form="html")
        for words in ("<!doctype html>", 'class="map"', 'class="curves"', "400 MiB requested"):
            self.assertIn(words, page)

    def test_a_page_of_a_hundred_thousand_blocks_is_small(self):
        blocks = [{"address": i * 1024 + part, "size": 512, "requested_size": 100, "frames": [],
                   "state": "inactive" if part else "active_allocated"} for i in range(50_000) for part in (0, 512)]
        segment = {"device": 0, "address": 0, "total_size": 512 * len(blocks), "stream": 0, "segment_type": "small",
                   "blocks": blocks}
        (self.folder / "many.json").write_text(json.dumps({"segments": [segment], "device_traces": [[]]}))
        page = self.screen("many.json", form="html")
        self.assertIn("100,000 blocks are too small", page)
        self.assertLess(len(page), 100_000)

    def test_what_is_no_snapshot(self):
        (self.folder / "train.log").write_text("step 1 allocated 3.00 GiB\n")
        (self.folder / "evil.pkl").write_bytes(make_snapshots.hostile_pickles("canary")["global"][0])
        for names, words in (([], "no snapshot given"), (["train.log"], "train.log is not an allocator snapshot"),
                             (["evil.pkl"], "GLOBAL"), (["gone.pickle"], "file not found: gone.pickle")):
            done = run_in(self.folder, "snapshot", *names)
            self.assertEqual((done.returncode, done.stdout), (2, b""), names)
            self.assertIn(words, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
