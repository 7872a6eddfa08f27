"""analyze() and estimate() of the Python package, its wheel, and the survey of docs/python.md with Dask.

OOMDOCTOR_BINARY names the program. The test with Dask is skipped where no Python of this machine has it.
"""
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import time
import unittest

from cases import BINARY, FAULTS, MESSAGE, ROOT, SAMPLES, Case, needs, python_with

import oomdoctor


class Api(Case):
    def test_a_report_has_the_values_of_the_json(self):
        for path in ("stories/leak.log", "stories/fragmentation.log", "snapshots/leak.pickle", "stories/gpu_two_devices.csv"):
            path = str(SAMPLES / path)
            report = oomdoctor.analyze(path)
            printed = subprocess.run([BINARY, "analyze", "--format=json", path], capture_output=True, check=False).stdout
            self.assertEqual(report.to_dict(), json.loads(printed))
            self.assertIsInstance(report, oomdoctor.Report)
            self.assertEqual(report.verdict.outcome, report.to_dict()["verdict"]["outcome"])
            self.assertEqual(pickle.loads(pickle.dumps(report)), report)

    def test_texts_paths_and_options(self):
        log = SAMPLES / "stories" / "leak.log"
        for given in (log.read_text(), log.read_bytes(), str(log), log, [log]):
            self.assertEqual(oomdoctor.analyze(given).verdict.cause, "leak")
        self.assertEqual(oomdoctor.analyze(text="no line break").verdict.outcome, "unrecognised")
        report = oomdoctor.analyze(log, why_not="fragmentation", trace=True, capacity=None)
        self.assertEqual((report.why_not.cause, bool(report.trace)), ("fragmentation", True))
        both = oomdoctor.analyze([SAMPLES / "snapshots" / "leak.pickle"], text=log.read_text())
        self.assertEqual([place.path for place in both.inputs][-1:], ["<stdin>"])
        os.chdir(self.folder)
        self.addCleanup(os.chdir, ROOT)
        (self.folder / "--odd.log").write_text(log.read_text())
        self.assertEqual(oomdoctor.analyze("--odd.log").verdict.cause, "leak")

    def test_an_estimate(self):
        estimate = oomdoctor.estimate(params="7B", layers=32, hidden=4096, seq=2048, card="80GiB", zero=3, dp=8)
        self.assertIsInstance(estimate, oomdoctor.MemoryEstimate)
        self.assertEqual((estimate.parameters, estimate.outcome), (7 * 10**9, estimate.to_dict()["outcome"]))
        self.assertGreater(sum(term.bytes for term in estimate.terms if term.moment == "always"), 10 * 2**30)

    def test_a_notebook_shows_the_verdict_and_no_markup_of_the_log(self):
        text = oomdoctor.analyze(SAMPLES / "stories" / "leak.log")._repr_html_()
        for part in ("Memory leak: each step keeps memory", "tensors</td><td>78.27 GiB", "<li>", "Won't help"):
            self.assertIn(part, text)
        evil = f"Traceback (most recent call last):\n  File \"<script>alert(1)</script>.py\", line 3, in <b>\n" \
               f"RuntimeError: {MESSAGE}\n"
        self.assertNotIn("<script", oomdoctor.analyze(evil)._repr_html_())
        self.assertLess(len(repr(oomdoctor.analyze(evil))), 500)

    def test_wrong_use_and_every_fault_are_one_error(self):
        for words in ({"source": "no/such.log"}, {"text": "a", "capacity": "80"}, {"text": "a", "nonsense": True}):
            with self.subTest(words), self.assertRaisesRegex(oomdoctor.Error, r"^oomdoctor: .*$"):
                oomdoctor.analyze(**words)
        for words in ({}, {"source": b"a", "text": "b"}, {"text": "a", "format": "markdown"}, {"text": "a", "format": None}):
            self.assertRaises(TypeError, oomdoctor.analyze, **words)
        self.assertRaises(oomdoctor.Error, oomdoctor.analyze, [])  # a pattern that matched no file
        self.assertRaises(TypeError, oomdoctor.estimate, params="7B", format="terminal")
        os.environ["OOMDOCTOR_BINARY"] = str(self.folder / "faulty-program")
        self.addCleanup(os.environ.update, OOMDOCTOR_BINARY=BINARY)
        for fault in FAULTS:
            self.faulty(fault)
            for call in (lambda: oomdoctor.analyze(text="a\n" * 10**5, timeout=2), lambda: oomdoctor.estimate(timeout=2)):
                start = time.monotonic()
                with self.subTest(fault), self.assertRaisesRegex(oomdoctor.Error, r"\A.+\Z"):
                    call()
                self.assertLess(time.monotonic() - start, 20)


class Wheel(Case):
    def test_pip_installs_what_finds_its_program(self):
        sys.path.insert(0, str(ROOT / "packaging" / "make"))
        self.addCleanup(sys.path.remove, str(ROOT / "packaging" / "make"))
        import registries
        name, content = registries.wheel(ROOT, "1.2.3", os.uname().machine, pathlib.Path(BINARY).read_bytes(),
                                         {"LICENSE": b""}, {}, time.gmtime(1767225600))
        (self.folder / name).write_bytes(content)
        python = self.folder / "venv" / "bin" / "python"
        if self.run_python("-m", "venv", "venv").returncode != 0 or self.run_python(
                "-m", "pip", "--version", python=python, PYTHONPATH="").returncode != 0:
            self.skipTest("this Python makes no environment with pip: apt install python3-venv")
        alone = {"python": python, "program": "", "PYTHONPATH": "", "PATH": str(self.folder)}
        done = self.run_python("-m", "pip", "install", "--no-index", "--disable-pip-version-check", name, **alone)
        self.assertEqual(done.returncode, 0, done.stderr)
        script = self.script("import oomdoctor, sys\nassert 'venv' in oomdoctor.__file__\n"
                             "print(oomdoctor.analyze(sys.argv[1]).verdict.cause)\noomdoctor.install()\nforward(3)")
        done = self.run_python(script, SAMPLES / "stories" / "leak.log", **alone)
        self.assertEqual(done.stdout, "leak\n", done.stderr)
        self.assert_reported(done)
        shown = self.run_python("-m", "pip", "show", "--verbose", "oomdoctor", **alone).stdout
        for line in ("Version: 1.2.3", "Typing :: Typed", "License: Apache-2.0"):
            self.assertIn(line, shown)


class Survey(Case):
    """The examples of docs/python.md."""

    @needs("distributed")
    def test_dask(self):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        code, = re.findall(r"```python\n(from dask.*?)```", page, re.S)
        logs = self.folder / "logs"
        logs.mkdir()
        for name in ("leak.log", "fragmentation.log"):
            (logs / name).write_bytes((SAMPLES / "stories" / name).read_bytes())
        (logs / "unread.log").symlink_to("missing")
        (self.folder / "survey.py").write_text(code.replace("Client()", "Client(dashboard_address=None, n_workers=2)"))
        done = self.run_python("survey.py", python=python_with("distributed"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("leak", done.stdout)
        self.assertIn("unread.log", done.stdout)


if __name__ == "__main__":
    unittest.main()
