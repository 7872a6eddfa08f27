"""oomdoctor ci in a job that failed, on each of the systems that it knows: exactly the documented files, and what the
system is told. OOMDOCTOR_BINARY names the program.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
FILES = ["gl-code-quality.json", "junit.xml", "oomdoctor.sarif", "report.html", "report.json", "report.md",
         "report.txt"]
SYSTEMS = {"github": {"GITHUB_ACTIONS": "true", "CI": "true"}, "gitlab": {"GITLAB_CI": "true", "CI": "true"},
           "buildkite": {"BUILDKITE": "true", "CI": "true"}, "jenkins": {"JENKINS_URL": "http://jenkins.example/"},
           "none": {}}
TOKEN = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567"
FAILED = f"""\
step 1 loss 2.31
step 2 loss 2.30
Traceback (most recent call last):
  File "train.py", line 88, in training_step
    loss.backward(login("{TOKEN}"))
torch.OutOfMemoryError: CUDA out of memory. HF_TOKEN=x Tried to allocate 1.50 GiB. GPU 0 has a total capacity of \
23.69 GiB of which 1.06 GiB is free. Process 4712 has 22.62 GiB memory in use. Of the allocated memory 21.42 GiB is \
allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated.
"""
AGENT = """#!/bin/sh
printf '%s\\n' "$@" >"$AGENT_LOG.words"
cat >"$AGENT_LOG.text"
exit "${AGENT_STATUS:-0}"
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "work")
        self.folder.mkdir()
        self.tools = pathlib.Path(folder.name, "bin")
        self.tools.mkdir()
        (self.folder / "train.log").write_text(FAILED)

    def run_in(self, system, *words, command="ci", **environment):
        known = re.compile(r"CI$|CI_|GITHUB_|GITLAB_|BUILDKITE|JENKINS_|NO_COLOR|COLUMNS")
        clean = {name: value for name, value in os.environ.items() if not known.match(name)}
        clean.update(SYSTEMS[system], **environment)
        clean["PATH"] = f"{self.tools}:{clean['PATH']}"
        return subprocess.run([BINARY, command, *words], cwd=self.folder, env=clean, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)

    def reports(self):
        return {path.name: path.read_text() for path in (self.folder / "oomdoctor-out").glob("*.*")}


class Systems(Case):
    def test_the_documented_files_are_written_and_no_others(self):
        for system in SYSTEMS:
            with self.subTest(system):
                done = self.run_in(system, "train.log")
                self.assertEqual(done.returncode, 0, done.stderr)
                reports = self.reports()
                self.assertEqual(sorted(reports), FILES)
                self.assertEqual(sorted(os.listdir(self.folder)), ["oomdoctor-out", "train.log"])
                self.assertEqual(json.loads(reports["report.json"])["verdict"]["outcome"], "oom")
                self.assertEqual(json.loads(reports["oomdoctor.sarif"])["version"], "2.1.0")
                self.assertEqual(len(json.loads(reports["gl-code-quality.json"])), 1)
                self.assertEqual(xml.etree.ElementTree.fromstring(reports["junit.xml"]).get("failures"), "1")
                self.assertTrue(reports["report.md"].startswith("## OUT OF MEMORY\n"))
                self.assertNotIn("\x1b", reports["report.txt"])
                self.assertEqual("\x1b[" in done.stdout, system in ("github", "gitlab", "buildkite"))
                self.assertEqual("::error " in done.stdout, system == "github")
                for path in (self.folder / "oomdoctor-out").iterdir():
                    path.unlink()

    def test_the_verdict_comes_last(self):
        plain = self.run_in("jenkins", "train.log").stdout
        verdict = self.run_in("jenkins", "-q", "train.log").stdout
        self.assertTrue(verdict.startswith("OUT OF MEMORY") and " 1. " not in verdict, verdict)
        self.assertGreater(plain.index("\nOUT OF MEMORY"), plain.index("requested"))

    def test_the_help_names_every_file(self):
        text = self.run_in("none", "--help").stdout
        for name in FILES:
            self.assertIn(name, text)

    def test_the_job_is_left_alone_unless_asked(self):
        self.assertEqual(self.run_in("github", "train.log").returncode, 0)
        self.assertEqual(self.run_in("github", "--fail-on", "error", "train.log").returncode, 1)
        self.assertEqual(self.run_in("github", "missing.log").returncode, 2)


class GitHub(Case):
    def outputs(self, text):
        """As the runner reads them: name<<delimiter, lines, delimiter."""
        values, lines = {}, iter(text.splitlines())
        for line in lines:
            name, delimiter = line.split("<<")
            value = []
            while (line := next(lines)) != delimiter:
                value.append(line)
            values[name] = "\n".join(value)
        return values

    def run_here(self, *words):
        for name in ("summary", "output"):
            (self.folder.parent / name).write_text("")
        done = self.run_in("github", *words, GITHUB_STEP_SUMMARY=str(self.folder.parent / "summary"),
                           GITHUB_OUTPUT=str(self.folder.parent / "output"))
        return done, (self.folder.parent / "summary").read_text(), (self.folder.parent / "output").read_text()

    def test_summary_outputs_and_one_annotation(self):
        done, summary, output = self.run_here("train.log")
        self.assertEqual(summary, self.reports()["report.md"])
        values = self.outputs(output)
        self.assertEqual((values["verdict"], values["sarif"]), ("oom", "oomdoctor-out/oomdoctor.sarif"))
        self.assertEqual(sorted(values), ["cause", "html", "retry", "sarif", "verdict"])
        self.assertNotEqual(output.split("\n")[0], self.run_here("train.log")[2].split("\n")[0])
        self.assertEqual(sum(line.startswith("::") for line in done.stdout.splitlines()), 1)
        self.assertIn("\n::error file=train.py,line=88,", done.stdout)
        self.assertLess(done.stdout.index("OUT OF MEMORY"), done.stdout.index("::error"))  # the verdict comes first

    def test_a_log_gives_no_commands(self):
        evil = "::error::pwned ##[group]x ::set-output name=x::y +++ x\x1b]0;t\x07\u202e ]]> <script>"
        text = FAILED.replace("HF_TOKEN", evil).replace("train.py", f"a {evil}.py")
        (self.folder / "train.log").write_text(text + f"\n{evil}\n+++ header\n")
        done, summary, output = self.run_here("train.log")
        lines = done.stdout.splitlines()
        commands = [line for line in lines if line.lstrip().startswith("::")]
        self.assertEqual([line.split(" ")[0] for line in commands], ["::error"])
        self.assertEqual(commands[0].count("::"), 2)
        self.assertNotIn("##[", done.stdout)
        self.assertFalse([line for line in lines if line.startswith(("+++ ", "--- ", "~~~ "))])
        for text in (done.stdout, summary, output, *self.reports().values()):
            self.assertNotIn("\x07", text)
        self.assertEqual(sorted(self.outputs(output)), ["cause", "html", "retry", "sarif", "verdict"])

    def test_nine_annotations_and_a_count(self):
        many = "".join(FAILED.replace("GPU 0", f"GPU {i}").replace("line 88", f"line {i + 1}").replace("1.50", f"{i + 1}.50")
                       + "training finished\nstep 1 loss 2\n" for i in range(16))
        (self.folder / "train.log").write_text(many)
        done, *_ = self.run_here("train.log")
        commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
        self.assertLessEqual(len(commands), 10)


class Buildkite(Case):
    def annotate(self, **environment):
        agent = self.tools / "buildkite-agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        log = self.folder.parent / "agent"
        done = self.run_in("buildkite", "train.log", AGENT_LOG=str(log), **environment)
        return done, pathlib.Path(f"{log}.words").read_text().split(), pathlib.Path(f"{log}.text").read_text()

    def test_the_agent_annotates_the_build(self):
        done, words, text = self.annotate()
        self.assertEqual(words, ["annotate", "--context", "oomdoctor", "--style", "error"])
        self.assertEqual(text, self.reports()["report.md"])
        self.assertNotIn("annotation", done.stderr)

    def test_an_agent_that_fails_or_is_missing_costs_nothing_else(self):
        for done in (self.run_in("buildkite", "train.log"), self.annotate(AGENT_STATUS="3")[0]):
            self.assertEqual(done.returncode, 0)
            self.assertIn("oomdoctor: buildkite-agent could not add the annotation\n", done.stderr)
            self.assertEqual(sorted(self.reports()), FILES)


class Search(Case):
    """Logs that nobody named."""

    def found(self):
        done = self.run_in("none")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()[0], [i["path"] for i in json.loads(self.reports()["report.json"])["inputs"]]

    def write(self, path, age=0, text=FAILED):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age,) * 2)

    def test_what_was_written_last_and_within_ten_minutes_is_one_run(self):
        self.write("train.log", 60)
        self.write("slurm-12.out", 0)
        self.write("old.log", 3600)
        self.write("notes.txt")
        said, paths = self.found()
        self.assertEqual(said, "oomdoctor: no log given; reading slurm-12.out and 1 more")
        self.assertEqual(paths, ["slurm-12.out", "train.log"])

    def test_folders_of_logs_and_of_torchrun_are_searched(self):
        os.remove(self.folder / "train.log")
        self.write("logs/a/rank_0.log")
        self.write("ranks/run_x/attempt_0/1/stderr.log")
        self.write("data/not/a.log")
        self.write("oomdoctor-out/logs/earlier.log")
        self.assertEqual(self.found()[1], ["logs/a/rank_0.log", "ranks/run_x/attempt_0/1/stderr.log"])

    def test_empty_files_links_to_folders_and_their_loops_are_left_out(self):
        self.write("empty.log", text="")
        (self.folder / "logs").symlink_to(self.folder)
        self.assertEqual(self.found()[1], ["train.log"])

    def test_none_is_said(self):
        os.remove(self.folder / "train.log")
        done = self.run_in("none")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.splitlines()[0], "oomdoctor: no log found")


class FilesThatFail(Case):
    """A report that cannot be written is a note: the verdict is printed, the rest is written, the status stays 0."""

    def test_the_folder_of_the_reports(self):
        (self.folder / "oomdoctor-out").write_text("a file")
        summary = self.folder.parent / "summary"
        done = self.run_in("github", "train.log", GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(self.folder / "no" / "output"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("OUT OF MEMORY", done.stdout)
        self.assertIn("::error file=train.py", done.stdout)
        self.assertIn("OUT OF MEMORY", summary.read_text())
        self.assertEqual(len(re.findall("cannot (?:write|create)", done.stderr)), 2, done.stderr)
        self.assertEqual(self.run_in("none", "--fail-on", "error", "train.log").returncode, 1)

    def test_one_report(self):
        (self.folder / "oomdoctor-out" / "report.html").mkdir(parents=True)
        output = self.folder.parent / "output"
        done = self.run_in("github", "train.log", GITHUB_OUTPUT=str(output))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(p.name for p in (self.folder / "oomdoctor-out").iterdir() if p.is_file()),
                         [name for name in FILES if name != "report.html"])
        values = dict(re.findall(r"^(\w+)<<(?:\S+)\n(.*)$", output.read_text(), re.M))
        self.assertEqual((values["html"], values["sarif"]), ("", "oomdoctor-out/oomdoctor.sarif"))

    def test_standard_output(self):
        environment = {**os.environ, **SYSTEMS["none"]}
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "ci", "train.log"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, env=environment, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"cannot write to standard output: No space left on device", done.stderr)
        self.assertEqual(sorted(self.reports()), FILES)


class Redaction(Case):
    def test_a_job_prints_no_secret(self):
        for system in SYSTEMS:
            done = self.run_in(system, "train.log")
            self.assertIn("oomdoctor: redacted 1 Hugging Face token\n", done.stderr)
            for text in (done.stdout, *self.reports().values()):
                self.assertNotIn(TOKEN, text)
        self.assertIn("[redacted: Hugging Face token]", self.reports()["report.json"])
        self.run_in("none", "--redact", "off", "train.log")
        self.assertIn(TOKEN, self.reports()["report.json"])

    def test_what_is_made_to_be_handed_on_is_redacted_and_what_is_read_here_is_not(self):
        def printed(name, system="none", *words):
            return self.run_in(system, *words, "--format", name, "train.log", command="analyze").stdout
        for name in ("terminal", "json"):
            self.assertIn(TOKEN, printed(name), name)
            self.assertNotIn(TOKEN, printed(name, "gitlab"), name)
            self.assertNotIn(TOKEN, printed(name, "none", "--redact", "secrets"), name)
        for name in ("markdown", "sarif", "junit", "gitlab", "github", "k8s"):
            self.assertNotIn(TOKEN, printed(name), name)
        self.assertIn(TOKEN, printed("json", "gitlab", "--redact", "off"))

    def test_so_is_a_comparison(self):
        (self.folder / f"{TOKEN}.log").write_text(FAILED)
        for name, system, shown in (("terminal", "none", True), ("terminal", "github", False), ("markdown", "none", False)):
            done = self.run_in(system, "--format", name, "train.log", f"{TOKEN}.log", command="compare")
            self.assertEqual(TOKEN in done.stdout, shown, done.stdout)


if __name__ == "__main__":
    unittest.main()
