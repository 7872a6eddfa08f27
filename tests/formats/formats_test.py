"""What oomdoctor writes for other programs, judged by their own validators: SARIF by its schema and by the rules of
GitHub's code scanning, JUnit by a schema, metrics by promtool, JSON Lines and code quality by JSON Schemas.

OOMDOCTOR_BINARY names the program. The validator of SARIF comes from npm, as pinned beside this file, and is kept below
build/ for all builds.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm_tools

ROOT = HERE.parents[1]
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", ROOT / "build" / "release" / "oomdoctor"))

FORMATS = ("sarif", "junit", "gitlab", "jsonl", "k8s", "prometheus")
EVIL = "]]> <script>&amp; \x1b[31m\x07 \u202e \ufffe [a](1) {0} \"q\" \\ \u2028 %41 @x #1 ::error::x |`"
MESSAGE = "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.06 GiB is " \
          "free. Including non-PyTorch memory, this process has 22.62 GiB memory in use. Of the allocated memory 21.42 " \
          "GiB is allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated."
TRACEBACK = """\
Traceback (most recent call last):
  File "{}", line 88, in {}
    loss.backward()
torch.OutOfMemoryError: {}{}
"""
RUNS = {
    "fatal": [ROOT / "samples" / "stories" / "leak.log"],
    "handled": [ROOT / "samples" / "handled" / "accelerate.log"],
    "at_risk": [ROOT / "samples" / "stories" / "gpu_ramp.csv"],
    "healthy": [ROOT / "samples" / "healthy" / "detectron2.log"],
    "ended": [ROOT / "samples" / "healthy" / "cuda_busy.log"],
    "killed": [ROOT / "samples" / "process_exit" / "bare.log"],
    "overcome": [ROOT / "samples" / "several_runs" / "overcome.log"],
    "ranks": ["ranks"],
    "own_line": ["own.log"],
    "hostile": [f"a b{EVIL.replace('/', '')}.log", "bytes.log"],
}


def multitool():
    return npm_tools.install(HERE) / "@microsoft" / "sarif-multitool-linux"


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        evil, broken = RUNS["hostile"]
        (cls.folder / evil).write_text(TRACEBACK.format("../../etc/train.py", "step" + EVIL.split()[0], MESSAGE, " " + EVIL))
        own = TRACEBACK.format(cls.folder / "src" / "näme.py", "f", MESSAGE, "")
        (cls.folder / "own.log").write_text(own)
        (cls.folder / broken).write_bytes(b"\xff\xc0" * 3 + b"\n" + own.encode().replace(b"loss", b"\xff\x00\xed\xa0\x80"))

        (cls.folder / "ranks").mkdir()
        for rank in range(4):
            steps = "".join(f"step {step} | loss 2.1 | allocated {20 + rank / 10:.3f} GiB\n" for step in range(9))
            (cls.folder / "ranks" / f"rank_{rank}.log").write_text(steps + own * (rank in (1, 3)))
        for copy in ("first", "again"):
            (cls.folder / copy).mkdir()
            for run, logs in RUNS.items():
                outputs = [f"--output={format_}={copy}/{run}.{format_}" for format_ in (*FORMATS, "json")]
                subprocess.run([BINARY, "analyze", "--fail-on", "never", *outputs, "--", *logs], cwd=cls.folder, check=True,
                               stdout=subprocess.DEVNULL, timeout=60)

    def path(self, format_, run):
        return self.folder / "first" / f"{run}.{format_}"

    def text(self, format_, run):
        return self.path(format_, run).read_text()

    def results(self, run):
        return json.loads(self.text("sarif", run))["runs"][0]["results"]

    def test_the_same_input_gives_the_same_bytes(self):
        for format_ in FORMATS:
            for run in RUNS:
                path = self.path(format_, run)
                self.assertEqual(path.read_bytes(), (self.folder / "again" / path.name).read_bytes(), path.name)
                path.read_bytes().decode()

    def test_sarif_keeps_its_schema_and_the_rules_of_code_scanning(self):
        schema = json.loads((multitool() / "sarif-2.1.0.json").read_text(encoding="utf-8-sig"))
        validator = jsonschema.validators.validator_for(schema)(schema)
        for run in RUNS:
            log = json.loads(self.text("sarif", run))
            self.assertEqual([error.message for error in validator.iter_errors(log)], [], run)
            self.assertEqual(self.errors_of(self.path("sarif", run)), [], run)

    def test_the_judge_of_sarif_sees_what_is_wrong(self):
        log = json.loads(self.text("sarif", "fatal"))
        del log["runs"][0]["tool"]["driver"]["rules"]
        path = self.folder / "broken.sarif"
        path.write_text(json.dumps(log))
        self.assertNotEqual(self.errors_of(path), [])

    def errors_of(self, path):
        """Its exit status says nothing."""
        judged = path.with_suffix(".judged")
        subprocess.run([multitool() / "Sarif.Multitool", "validate", path, "--rule-kind", "Gh;Sarif", "-o", judged, "--log",
                        "ForceOverwrite"], capture_output=True, timeout=120,
                       env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
        run = json.loads(judged.read_text(encoding="utf-8-sig"))["runs"][0]
        levels = {rule["id"]: rule.get("defaultConfiguration", {}).get("level", "warning")
                  for rule in run["tool"]["driver"].get("rules", [])}
        return [(result["ruleId"], result["locations"]) for result in run["results"]
                if result.get("level", levels.get(result["ruleId"], "warning")) == "error"]

    def test_sarif_names_the_cause_its_place_and_the_lines_of_the_log(self):
        (result,) = self.results("fatal")
        self.assertEqual((result["ruleId"], result["level"]), ("leak", "error"))
        self.assertRegex(result["partialFingerprints"]["primaryLocationLineHash"], r"^[0-9a-f]{32}:1$")
        self.assertEqual([place["id"] for place in result["relatedLocations"]],
                [int(number) for number in re.findall(r"(?<!\\)\]\((\d+)\)", result["message"]["text"])])
        for run in ("healthy", "ended"):
            self.assertEqual(self.results(run), [], run)
        for run in ("at_risk", "killed", "overcome"):
            self.assertEqual(self.results(run)[0]["level"], "warning", run)

    def test_paths_stay_in_the_working_directory(self):
        for run in RUNS:
            for uri in re.findall(r'"uri": "([^"]*)"', self.text("sarif", run)):
                self.assertRegex(uri, r"^(?!/)(?!.*\.\.)[A-Za-z0-9._~/%-]+$")
        (result,) = self.results("own_line")
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]["startLine"]), ("src/n%C3%A4me.py", 88))

    def test_junit_keeps_the_schema(self):
        for run in RUNS:
            done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", HERE / "junit.xsd",
                                   self.path("junit", run)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = self.text("junit", run)
            self.assertEqual("<failure " in text, run not in ("handled", "at_risk", "healthy", "ended", "killed", "overcome"), run)
            self.assertEqual("<system-out>" in text, run in ("handled", "at_risk", "killed", "overcome"), run)

    def test_junit_has_a_case_for_each_rank(self):
        text = self.text("junit", "ranks")
        self.assertEqual(re.findall(r'name="rank (\d)"/>', text), ["0", "2"])
        self.assertEqual(text.count("<failure ") + text.count("<skipped "), 2)

    def test_gitlab_keeps_the_schema(self):
        schema = json.loads((HERE / "gitlab.schema.json").read_text())
        for run in RUNS:
            entries = json.loads(self.text("gitlab", run))
            jsonschema.Draft202012Validator(schema).validate(entries)
            self.assertEqual(len(entries) > 0, run not in ("healthy", "ended"), run)
            self.assertEqual(len({entry["fingerprint"] for entry in entries}), len(entries))

    def test_lines_keep_their_schema_and_hold_what_the_report_holds(self):
        schema = json.loads(subprocess.run([BINARY, "schema", "jsonl"], capture_output=True, check=True).stdout)
        validator = jsonschema.Draft202012Validator(schema)
        jsonschema.Draft202012Validator.check_schema(schema)
        for run in RUNS:
            report = json.loads(self.text("json", run))
            lines = [json.loads(line) for line in self.text("jsonl", run).splitlines()]
            for line in lines:
                validator.validate(line)
            self.assertEqual(lines[0]["verdict"], report["verdict"])
            for name, all_ in (("incident", "incidents"), ("cause", "causes"), ("fix", "fixes")):
                self.assertEqual([line[name] for line in lines if name in line], report[all_])
        self.assertFalse(validator.is_valid({"oomdoctor_jsonl": 1, "input": "x"}))
        self.assertFalse(validator.is_valid({**lines[0], "oomdoctor_jsonl": 2}))

    def test_metrics_are_metrics(self):
        for run in RUNS:
            text = self.text("prometheus", run)
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), run)
            self.assertTrue(text.endswith("\n"))
            self.assertEqual('oomdoctor_outcome{outcome="no_oom"} 1' in text, run == "healthy", run)

    def test_a_termination_message_is_short_and_begins_with_the_verdict(self):
        first = {"fatal": "OUT OF MEMORY: ", "healthy": "NO SIGN OF MEMORY FAILURE",
                 "ended": "NOT A MEMORY FAILURE: ", "killed": "POSSIBLE OOM: "}
        for run in RUNS:
            message = self.text("k8s", run)
            self.assertLessEqual(len(message.encode()), 1024)
            self.assertTrue(message.startswith(first.get(run, "")), message)
            self.assertNotRegex(message, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]")


if __name__ == "__main__":
    unittest.main()
