"""The command line from outside: exit statuses, messages (quoted), streams, files. OOMDOCTOR_BINARY names the program.

Only the standard library is used; where the jsonschema module is there, reports are also checked against the schema.
"""
import bz2
import copy
import gzip
import io
import json
import lzma
import os
import pathlib
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import unittest
import zipfile

import published_models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pseudo_terminal  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_SAMPLE_IN = int(os.environ.get("OOMDOCTOR_ONE_SAMPLE_IN", "1"))  # tests/CMakeLists.txt
OWN = ROOT / "docs" / "own_formats"
_FORMAT_ROW = re.compile(r"  \S+/\S+  ")
APPROVED = pathlib.Path(__file__).resolve().parent.parent / "approved"

FAILED = """\
step 1 loss 2.31
step 2 loss 2.30
Traceback (most recent call last):
  File "train.py", line 88, in training_step
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of \
23.69 GiB of which 1.06 GiB is free. Process 4712 has 22.62 GiB memory in use. Of the allocated memory 21.42 GiB is \
allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated.
"""
HEALTHY = "".join(f"step {i} loss {2.5 - i / 100:.2f}\n" for i in range(1, 40)) + "training finished\n"


def run(*words, stdin=None, cwd=None, environment=None, text=True):
    """stdin: text for a pipe; None: /dev/null."""
    job = ("GITHUB_", "GITLAB_", "BUILDKITE", "JENKINS_", "CI")
    ours = ("COLUMNS", "NO_COLOR", "LC_CTYPE")  # the last: where no locale is set, Python sets it for its children
    clean = {k: v for k, v in os.environ.items() if not k.startswith(job) and k not in ours}
    clean.update(environment or {})
    where = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([BINARY, *words], capture_output=True, text=text, cwd=cwd, env=clean, timeout=120, **where)


def errors_at_terminal(*words, cwd):
    """What somebody reads who sits in front of it: standard error is a terminal."""
    ours, theirs = pseudo_terminal.opened()
    clean = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith("GITHUB_")}
    with subprocess.Popen([BINARY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, cwd=cwd,
                          env=clean) as running:
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        running.wait(timeout=60)
    return text.decode().replace("\r\n", "\n").splitlines()


def zstd_frame(data):
    """A Zstandard frame by the letter of RFC 8878: a window of 1 MiB, blocks as they are."""
    blocks = [data[i:i + 100] for i in range(0, len(data), 100)]
    packed = b"\x28\xb5\x2f\xfd\x00\x50"
    for i, block in enumerate(blocks):
        packed += (len(block) << 3 | (i + 1 == len(blocks))).to_bytes(3, "little") + block
    return packed


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "train.log").write_text(FAILED)
        (self.folder / "fine.log").write_text(HEALTHY)

    def run_here(self, *words, **more):
        return run(*words, cwd=self.folder, **more)

    def assert_refused(self, words, message, advice=""):
        done = self.run_here(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "oomdoctor: " + message)
        if advice:
            self.assertEqual(lines[-1], "  " + advice)


class ExitStatus(Case):
    def test_a_failure_is_1_and_its_absence_is_0(self):
        self.assertEqual(self.run_here("analyze", "train.log").returncode, 1)
        self.assertEqual(self.run_here("analyze", "fine.log").returncode, 0)

    def test_fail_on_moves_the_threshold(self):
        self.assertEqual(self.run_here("analyze", "--fail-on", "never", "train.log").returncode, 0)
        self.assertEqual(self.run_here("analyze", "--fail-on", "warning", "train.log").returncode, 1)
        self.assertEqual(self.run_here("analyze", "--fail-on=warning", "fine.log").returncode, 0)

    def test_no_command_is_2_with_the_help_on_standard_error(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("oomdoctor analyze [PATH...|-]", done.stderr)

    def test_a_reader_that_goes_away_ends_it_silently(self):
        with subprocess.Popen([BINARY, "list", "formats", "--format", "markdown"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(60), 141)

    def test_a_full_disk_is_2(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "schema", "report"], stdout=full, stderr=subprocess.PIPE, text=True,
                    timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "oomdoctor: cannot write to standard output: No space left on device\n"))


class Messages(Case):
    def test_unknown_command(self):
        self.assert_refused(["analyse", "train.log"], "unknown command 'analyse'", "did you mean 'analyze'?")
        self.assert_refused(["other.log"], "unknown command 'other.log'",
                "to read a log: oomdoctor analyze other.log")

    def test_unknown_option(self):
        self.assert_refused(["analyze", "--fromat", "json", "train.log"],
                "unknown option '--fromat' of oomdoctor analyze",
                            "did you mean '--format'?")
        self.assert_refused(["analyze", "--zzz"], "unknown option '--zzz' of oomdoctor analyze",
                "see oomdoctor analyze --help")
        self.assert_refused(["schema", "--format", "json"], "unknown option '--format' of oomdoctor schema")
        self.assert_refused(["analyze", "--words", "x"], "unknown option '--words' of oomdoctor analyze")

    def test_a_shortened_option_is_unknown(self):
        self.assert_refused(["analyze", "--form", "json", "train.log"],
                "unknown option '--form' of oomdoctor analyze")

    def test_what_is_nearly_right_is_named(self):
        self.assert_refused(["--versoin"], "unknown option '--versoin'", "did you mean '--version'?")
        self.assert_refused(["--quite", "train.log"], "unknown option '--quite'", "did you mean '--quiet'?")
        self.assert_refused(["estimate", "--params", "7B", "--layers", "32", "--hidden", "4096", "--card", "A100"],
                            "unknown GPU 'A100'", "did you mean A100-40GB or A100-80GB?")

    def test_a_family_of_formats_is_explained(self):
        done = run("explain", "megatron")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("megatron/", done.stdout)

    def test_values(self):
        self.assert_refused(["analyze", "--format", "jsno", "train.log"], "invalid --format 'jsno'",
                            "did you mean 'json'? choose one of: terminal, json, markdown, html, github, sarif, junit, gitlab, jsonl, k8s, agent, prometheus, partial")
        self.assert_refused(["analyze", "--fail-on", "x", "train.log"], "invalid --fail-on 'x'",
                            "choose one of: error, warning, never")
        self.assert_refused(["analyze", "train.log", "--width"], "--width needs a value",
                "see oomdoctor analyze --help")
        self.assert_refused(["analyze", "--width", "7", "train.log"], "invalid --width '7'",
                "give a number from 40 to 400")
        for jobs in ("0", "-1", "many", "2.5", "2000"):
            self.assert_refused(["analyze", f"--jobs={jobs}", "train.log"], f"invalid --jobs '{jobs}'",
                                "give a number from 1 to 1024")
        self.assert_refused(["analyze", "--quiet=3", "train.log"], "--quiet takes no value")
        for size in ("80", "GiB", "-1GiB", "1,5GiB", "80 furlongs", "0GiB"):
            self.assert_refused(["analyze", f"--capacity={size}", "train.log"], f"invalid --capacity '{size}'",
                                "give a number with a unit, for example 80GB or 23.69GiB")

    def test_missing_file(self):
        self.assert_refused(["analyze", "trian.log"], "file not found: trian.log", "did you mean 'train.log'?")
        self.assert_refused(["analyze", "zzzzzzzz"], "file not found: zzzzzzzz")

    def test_nothing_to_read(self):
        self.assert_refused(["analyze"], "no input given",
                "pass a log: oomdoctor analyze train.log, or pipe one in")
        (self.folder / "empty").mkdir()
        self.assert_refused(["analyze", "empty"], "no log found in the folder empty")

    def test_outputs(self):
        self.assert_refused(["analyze", "--output", "report.json", "train.log"], "invalid --output 'report.json'",
                            "use FORMAT=PATH, for example --output json=report.json")
        self.assert_refused(["analyze", "--output", "jsn=x", "train.log"], "unknown format 'jsn' in --output",
                "did you mean 'json'?")
        self.assert_refused(["analyze", "--output", "json=train.log", "train.log"],
                "--output would overwrite the input train.log")
        self.assertEqual((self.folder / "train.log").read_text(), FAILED)
        done = self.run_here("analyze", "--output", "json=no/such/x", "--output", "json=fine.json", "train.log")
        self.assertEqual((done.returncode, done.stderr), (2, "oomdoctor: cannot write no/such/x: No such file or directory\n"))
        self.assertIn("OUT OF MEMORY", done.stdout)
        self.assertEqual(json.loads((self.folder / "fine.json").read_text())["verdict"]["outcome"], "oom")

    def test_words(self):
        self.assert_refused(["list"], "list needs an argument",
                "choose one of: causes, fixes, myths, facts, formats, models, gpus")
        self.assert_refused(["list", "cuases"], "list does not know 'cuases'",
                            "did you mean 'causes'? choose one of: causes, fixes, myths, facts, formats, models, gpus")
        self.assert_refused(["list", "fixes", "x"], "list takes one argument; 'x' is one too many")
        self.assert_refused(["schema", "reprot"], "schema does not know 'reprot'",
                "did you mean 'report'? choose one of: report, jsonl, partial, comparison, estimate, survey, survey-totals, own-formats")
        self.assert_refused(["explain"], "explain needs an id, and optionally a log: oomdoctor explain leak train.log")

    def test_ids(self):
        self.assert_refused(["explain", "fragmentatoin"],
                "unknown id 'fragmentatoin': no verdict, cause, fix, myth, fact or format has it",
                            "did you mean 'fragmentation'?")
        self.assert_refused(["analyze", "--why-not", "fragmentatoin", "train.log"], "unknown cause 'fragmentatoin'",
                            "did you mean 'fragmentation'?")

    def test_control_characters_of_a_name_are_shown(self):
        done = self.run_here("analyze", "a\x1b[31m.log")
        self.assertEqual(done.stderr.splitlines()[0], "oomdoctor: file not found: a\\x1b[31m.log")


class Inputs(Case):
    def outcome(self, *words, **more):
        return json.loads(self.run_here("analyze", "--format", "json", *words, **more).stdout)["verdict"]["outcome"]

    def test_a_pipe_is_read_with_and_without_a_dash(self):
        self.assertEqual(self.outcome(stdin=FAILED), "oom")
        self.assertEqual(self.outcome("-", stdin=FAILED), "oom")
        self.assertEqual(self.outcome("-", stdin=HEALTHY), "no_oom")

    def test_a_folder_and_a_pattern_name_logs(self):
        (self.folder / "runs" / "a").mkdir(parents=True)
        (self.folder / "runs" / "a" / "x.out").write_text(FAILED)
        (self.folder / "runs" / "a" / "weights.bin").write_text("no log")
        (self.folder / "runs" / "oomdoctor-out").mkdir()
        (self.folder / "runs" / "oomdoctor-out" / "report.txt").write_text("an earlier report")
        self.assertEqual(self.outcome("runs"), "oom")
        self.assertEqual(self.outcome("tr*.log"), "oom")
        paths = json.loads(self.run_here("analyze", "--format", "json", "runs").stdout)["inputs"]
        if paths and "runs" in paths[0]["path"]:
            self.assertEqual([x["path"] for x in paths], ["runs/a/x.out"])

    def test_an_archive_is_read_as_its_text(self):
        text = FAILED.encode()
        members = gzip.compress(text[:100]) + gzip.compress(text[100:], mtime=1)
        for packed, name in ((members, "gzip"), (zstd_frame(text), "zstd"), (lzma.compress(text), "xz"),
                             (bz2.compress(text[:100]) + bz2.compress(text[100:]), "bzip2")):
            (self.folder / "packed").write_bytes(packed)
            plain, ours, piped = (json.loads(self.run_here("analyze", "--format", "json", *words, **more).stdout)
                                  for words, more in ((["train.log"], {}), (["packed"], {}),
                                                      (["-"], {"stdin": packed, "text": False})))
            for report, path in ((ours, "packed"), (piped, "<stdin>")):
                self.assertEqual(report["inputs"][0].pop("compression"), name)
                self.assertEqual(report["inputs"][0]["bytes"], len(packed))
                report["inputs"][0]["bytes"] = len(text)
                self.assertEqual(json.dumps(report).replace(path, "train.log"), json.dumps(plain))

    def test_members_of_an_archive_are_logs_of_their_own(self):
        members = {"0_train.txt": HEALTHY, "train.py": "import torch\n", ".git/HEAD.log": FAILED, "core": "\1" * 500,
                   "../../etc/rank1.log": FAILED, "/rank2.log": HEALTHY, "old/train.log": FAILED}
        with zipfile.ZipFile(self.folder / "ci.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
            archive.writestr("packed.log.gz", gzip.compress(HEALTHY.encode()))
            archive.writestr("other-logs.zip", b"PK\5\6" + bytes(18))
            archive.writestr("old/train.log", HEALTHY)  # unpacking would keep this one
        report = json.loads(self.run_here("analyze", "--fail-on", "never", "--format", "json", "ci.zip").stdout)
        self.assertEqual([i["path"] for i in report["inputs"]],
                         ["ci.zip/0_train.txt", "ci.zip/etc/rank1.log", "ci.zip/old/train.log", "ci.zip/packed.log.gz", "ci.zip/rank2.log"])
        self.assertEqual(report["verdict"]["outcome"], "oom")
        self.assertIn("left out: ci.zip/core (binary), ci.zip/other-logs.zip (an archive in an archive)",
                      [note["text"] for note in report["notes"]])
        for mode in ("w", "w:gz", "w:bz2", "w:xz"):
            with tarfile.open(self.folder / "logs", mode) as archive:
                for name in ("a/rank0.log", "a/rank1.log"):
                    entry = tarfile.TarInfo(name)
                    entry.size = len(FAILED)
                    archive.addfile(entry, io.BytesIO(FAILED.encode()))
                entry = tarfile.TarInfo("link.log")
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(entry)
            report = json.loads(self.run_here("analyze", "--fail-on", "never", "--format", "json", "logs").stdout)
            self.assertEqual([(i["path"], i["bytes"]) for i in report["inputs"]],
                             [(f"logs/a/rank{k}.log", len(FAILED)) for k in (0, 1)])
        done = self.run_here("analyze", "--fail-on", "never", "-", stdin=(self.folder / "logs").read_bytes(), text=False)
        self.assertIn(b"<stdin> is packed with tar", done.stdout)

    def test_archives_of_a_folder_are_read_by_their_names(self):
        (self.folder / "runs").mkdir()
        for name in ("train.log.zip", "data.zip"):
            with zipfile.ZipFile(self.folder / "runs" / name, "w") as archive:
                archive.writestr("rank0.log", FAILED)
        report = json.loads(self.run_here("analyze", "--fail-on", "never", "--format", "json", "runs").stdout)
        self.assertEqual([i["path"] for i in report["inputs"]], ["runs/train.log.zip/rank0.log"])

    def test_an_archive_without_logs_says_so(self):
        with zipfile.ZipFile(self.folder / "code.zip", "w") as archive:
            archive.writestr("train.py", "import torch\n")
        self.assertIn("no log found in the archive code.zip", self.run_here("analyze", "code.zip").stderr)
        (self.folder / "code.zip").write_bytes(b"PK\3\4" + b"x" * 600)
        self.assertIn("cannot read the logs code.zip: the archive is damaged", self.run_here("analyze", "code.zip").stderr)

    def test_an_archive_that_ends_early_says_so(self):
        packed = gzip.compress(HEALTHY.encode() + random.Random(1).randbytes(1000) + FAILED.encode())
        (self.folder / "cut.log.gz").write_bytes(packed[:-200])
        report = json.loads(self.run_here("analyze", "--format", "json", "cut.log.gz").stdout)
        self.assertTrue(report["inputs"][0]["truncated"])
        self.assertEqual(report["inputs"][0]["bytes"], len(packed) - 200)
        lost, = report["lost"]
        self.assertEqual((lost["what"], lost["path"]), ("the rest of the log", "cut.log.gz"))
        self.assertIn(f"ends early, after byte {len(packed) - 200} of its gzip data", lost["why"])
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["retry"]["decision"]), ("possible_oom", "unknown"))
        self.assertTrue(report["verdict"]["headline"].startswith("lost: the rest of the log cut.log.gz (the archive ends "))
        screen = self.run_here("analyze", "cut.log.gz").stdout
        self.assertIn("POSSIBLE OOM lost: the rest of the log cut.log.gz", " ".join(screen.split()))
        self.assertNotIn("NO SIGN", screen)
        self.assertIn("cut.log.gz (gzip) (cut off at its end)", self.run_here("analyze", "-v", "cut.log.gz").stdout)
        page = self.run_here("analyze", "--format", "markdown", "cut.log.gz").stdout
        self.assertIn("## POSSIBLE OOM\n\n**lost: the rest of the log cut", page)

    def test_what_cannot_be_read_is_said_and_has_a_status_of_its_own(self):
        noise = bytes(range(32)) * 64
        for name, content, words in (("empty.log", b"", "empty.log is empty"),
                                     ("train.log.Z", b"\x1f\x9d\x90\0\0 CUDA out of memory", "train.log.Z is packed with compress"),
                                     ("weights.bin", noise, "weights.bin is a binary file")):
            (self.folder / name).write_bytes(content)
            done = self.run_here("analyze", name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn("NOTHING RECOGNISED  " + words, done.stdout)
            self.assertEqual(self.run_here("analyze", "--fail-on", "never", name).returncode, 0)
        (self.folder / "train.log").write_text("step 1\n")
        self.assertEqual(self.run_here("analyze", "empty.log", "train.log").returncode, 0)


class LostEvidence(Case):
    """One log, folder or file that fails costs only itself, and what is lost is never an all-clear."""

    def analyze(self, *words, **more):
        return json.loads(self.run_here("analyze", "--fail-on", "never", "--format", "json", *words, **more).stdout)

    def setUp(self):
        super().setUp()
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        (self.logs / "fine.log").write_text(HEALTHY)

    def test_a_log_that_cannot_be_opened(self):
        (self.folder / "loop.log").symlink_to("loop.log")  # no one can open it, not even root
        report = self.analyze("logs/fine.log", "loop.log")
        self.assertEqual(report["lost"], [{"what": "the log", "why": "Too many levels of symbolic links", "path": "loop.log"}])
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["retry"]), ("possible_oom", {"decision": "unknown"}))
        self.assertEqual(self.analyze("train.log", "loop.log")["verdict"]["outcome"], "oom")
        self.assertEqual(self.run_here("analyze", "loop.log").returncode, 2)
        self.assertEqual(self.run_here("analyze", "--fail-on", "warning", "logs/fine.log", "loop.log").returncode, 1)

    def test_a_log_that_is_missing_costs_only_itself(self):
        report = self.analyze("train.log", "gone.log")
        self.assertEqual(report["lost"], [{"what": "the log", "why": "no such file", "path": "gone.log"}])
        self.assertEqual(report["verdict"]["outcome"], "oom")
        self.assert_refused(["analyze", "gone.log", "gone2.log"], "file not found: gone.log")

    def test_every_command_and_format_says_it(self):
        (self.folder / "loop.log").symlink_to("loop.log")
        for words in (["analyze"], ["analyze", "-q"], ["analyze", "-v"], ["ci"], ["survey"], ["explain", "leak"],
                      *(["analyze", "--format", name] for name in ("json", "markdown", "html", "github", "sarif", "junit",
                                                                   "gitlab", "jsonl", "k8s", "agent", "prometheus"))):
            with self.subTest(words=words):
                done = self.run_here(*words, "logs/fine.log", "loop.log")
                self.assertNotRegex(done.stdout, r"NO SIGN|memory is(n't| not) the problem|outcome=\"no_oom\"\} 1|None of")
                if words[0] != "explain" and "prometheus" not in words:
                    self.assertRegex(done.stdout, r"loop\.log|1 could not be judged")
        self.assertIn("oomdoctor_lost_evidence 1", self.run_here("analyze", "--format", "prometheus", "logs/fine.log", "loop.log").stdout)

    def test_parts_carry_it(self):
        (self.folder / "loop.log").symlink_to("loop.log")
        done = self.run_here("analyze", "--format", "partial", "logs/fine.log", "loop.log")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 2))
        (self.folder / "both.jsonl").write_text(done.stdout)
        merged = json.loads(self.run_here("merge", "--format", "json", "both.jsonl").stdout)
        self.assertEqual(merged, self.analyze("logs/fine.log", "loop.log"))
        self.assert_refused(["analyze", "--format", "partial", "loop.log"], "cannot open 'loop.log': Too many levels of symbolic links")

    def test_a_tree_that_is_too_deep(self):
        deep = self.logs
        for _ in range(70):
            deep /= "d"
        deep.mkdir(parents=True)
        (deep / "x.log").write_text(FAILED)
        report = self.analyze("logs")
        self.assertEqual([lost["why"] for lost in report["lost"]], ["more than 64 folders deep"])
        self.assertEqual(report["verdict"]["outcome"], "possible_oom")

    def test_more_logs_and_folders_than_descriptors(self):
        for i in range(60):
            (self.logs / f"{i}" / "d").mkdir(parents=True)
            (self.logs / f"{i}" / "d" / "train.log").write_text(HEALTHY)
        done = subprocess.run(["sh", "-c", f"ulimit -n 16; exec '{BINARY}' analyze --format json logs"], cwd=self.folder,
                              capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        report = json.loads(done.stdout)
        self.assertEqual((len(report["inputs"]), report.get("lost")), (61, None), done.stderr)

    def test_files_that_cannot_be_written_cost_only_themselves(self):
        for folder in ("a.json", "b.json"):
            (self.folder / folder).mkdir()
        done = self.run_here("analyze", "--output", "json=a.json", "--output", "json=b.json", "--output", "html=c.html", "train.log")
        self.assertEqual(done.returncode, 2)
        self.assertIn("OUT OF MEMORY", done.stdout)
        self.assertEqual(done.stderr.count("cannot write"), 2)
        self.assertIn("OUT OF MEMORY", (self.folder / "c.html").read_text())


class Folders(Case):
    """All text in a folder is read, or listed as left out; only files of known other kinds are not mentioned."""

    def setUp(self):
        super().setUp()
        self.logs = self.folder / "logs"
        self.logs.mkdir()

    def analyze(self, *words):
        return json.loads(self.run_here("analyze", "--fail-on", "never", "--format", "json", *words).stdout)

    def names(self, *words):
        return [os.path.relpath(i["path"], "logs") for i in self.analyze(*words)["inputs"]]

    def test_names_of_logs(self):
        logs = ("train.log", "train.log.1", "train.log-20260101", "train.log.2026-01-01_12-00", "train.log.old", "train.o123",
                "train.e123", "train.e123.4", "slurm-1.err", "slurm-123.out", "stdout", "stderr", "std.out", "STDERR.1",
                "progress", "run.weird", "trace.json", "usage.csv")
        for name in logs:
            (self.logs / name).write_text(HEALTHY)
        (self.logs / "train.log.3.gz").write_bytes(gzip.compress(HEALTHY.encode()))
        others = ("train.py", "README.md", "config.yaml", "model.safetensors", "checkpoint.pt", "curve.png", "events.out.tfevents.1.x",
                  "Makefile", ".gitignore", "data.tar.gz")
        for name in others:
            (self.logs / name).write_text(FAILED)
        for folder in (".git", "__pycache__", "oomdoctor-out"):
            (self.logs / folder).mkdir()
            (self.logs / folder / "x.log").write_text(FAILED)
        self.assertEqual(sorted(self.names("logs")), sorted((*logs, "train.log.3.gz")))
        report = self.analyze("logs")
        self.assertEqual((report["verdict"]["outcome"], report.get("lost")), ("no_oom", None))
        self.assertFalse([note for note in report["notes"] if "left out" in note["text"]])

    def test_what_is_no_text_is_listed(self):
        (self.logs / "train.log").write_text(HEALTHY)
        for i in range(12):
            (self.logs / f"core.{i}").write_bytes(b"\x7fELF\0\0" + bytes(range(256)))
        os.mkfifo(self.logs / "pipe.log")
        (self.logs / "away").symlink_to(self.folder)
        (self.logs / "same").symlink_to(".")
        (self.logs / "broken.log").symlink_to("nowhere")
        report = self.analyze("logs")
        note, = (note["text"] for note in report["notes"] if "left out" in note["text"])
        self.assertEqual(note, "left out: logs/away (a link to a folder), logs/broken.log (a link to nothing), " +
                         ", ".join(f"logs/core.{i} (binary)" for i in range(6)) + " and 7 more")
        self.assertEqual(report["verdict"]["outcome"], "no_oom")

    def test_a_log_that_no_one_can_unpack_is_lost(self):
        (self.logs / "train.log").write_text(HEALTHY)
        (self.logs / "train.log.1").write_bytes(b"\x1f\x9d\x90\0\0 packed")
        report = self.analyze("logs")
        self.assertEqual(report["lost"], [{"what": "the log", "why": "packed with compress", "path": "logs/train.log.1"}])
        self.assertEqual(report["verdict"]["outcome"], "possible_oom")

    def test_a_log_by_several_names_counts_once(self):
        (self.logs / "train.log").write_text(FAILED)
        (self.logs / "latest.log").symlink_to("train.log")
        os.link(self.logs / "train.log", self.logs / "zz.log")
        (self.folder / "way").symlink_to("logs")
        self.assertEqual(self.names("logs"), ["train.log"])
        report = self.analyze("logs/latest.log", "./logs/train.log", "logs/train.log", "logs//zz.log", "way")
        self.assertEqual((len(report["inputs"]), len(report["incidents"])), (1, 1))

    def test_reports_of_oomdoctor_are_no_logs(self):
        (self.logs / "train.log").write_text(FAILED)
        words = []
        for name, form in (("report.txt", "terminal"), ("brief.txt", "terminal"), ("report.json", "json"), ("x.jsonl", "jsonl"),
                           ("report.html", "html"), ("report.md", "markdown"), ("oomdoctor.sarif", "sarif"),
                           ("junit.xml", "junit"), ("gl-code-quality.json", "gitlab"), ("job.prom", "prometheus")):
            words += ["--output", f"{form}=logs/{name}"]
        self.run_here("analyze", *words, "logs/train.log")
        (self.logs / "report.txt").write_text(self.run_here("analyze", "-v", "logs/train.log").stdout)
        (self.logs / "survey.jsonl").write_text(self.run_here("survey", "--format", "jsonl", "logs/train.log").stdout)
        self.assertEqual(self.names("logs"), ["train.log"])
        self.assertEqual(len(self.analyze("logs")["incidents"]), 1)
        self.assertIn("report.json", self.names("logs/report.json"))  # whoever names it means it

    def test_the_halves_of_a_kept_output_are_one_log(self):
        folder = self.logs / "here"
        folder.mkdir()
        (folder / "samples.csv").write_text("time,process_tree_rss,cgroup_used,cgroup_limit,shm_used,shm_size\n")
        (folder / "output.log").write_text("step 1 loss 2.0\nstep 2 lo")
        (folder / "output.log.2").write_text("ss 2.0\nstep 3 loss 1.9\n")
        (folder / "output.log.1").write_text(FAILED.split("\n", 2)[2])
        for age, name in ((20, "output.log"), (10, "output.log.2"), (5, "output.log.1")):
            os.utime(folder / name, (1.7e9 - age, 1.7e9 - age))
        for words in (["logs/here"], ["logs/here/output.log"], ["logs/here/output.log.1", "logs/here/output.log"]):
            report = self.analyze(*words)
            output, = (i for i in report["inputs"] if i["path"].endswith("output.log"))
            self.assertEqual((output["lines"], report["incidents"][0]["location"]["line"]), (7, 7), words)
            self.assertTrue(any("read as one log" in note["text"] for note in report["notes"]))
        os.utime(folder / "output.log.2", (1.7e9, 1.7e9))  # now it is the newer half
        self.assertEqual(self.analyze("logs/here")["incidents"][0]["location"]["line"], 5)
        (folder / "samples.csv").unlink()  # an output that logrotate cut
        self.assertEqual(len(self.analyze("logs/here")["inputs"]), 3)

    def test_a_hole_is_not_read(self):
        path = self.logs / "train.log"
        path.write_text(FAILED)
        try:
            os.truncate(path, 1 << 40)
        except OSError:
            self.skipTest("the file system has no file of 1 TiB")
        report = self.analyze("logs/train.log")
        self.assertEqual((report["verdict"]["outcome"], report["inputs"][0]["bytes"]), ("oom", 1 << 40))
        self.assertTrue(any("holes of" in note["text"] for note in report["notes"]))
        self.assertEqual(self.run_here("analyze", "--format", "partial", "logs/train.log").returncode, 0)


class ManyLogs(Case):
    """Several logs as one case: their order, the machines they are read on, and that neither matters."""

    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir()
        for rank in range(12):
            steps = "".join(f"2026-03-01 12:00:{s:02} step {s} | loss 2.1 | allocated {20 + s * (rank == 10) / 10:.3f} GiB\n"
                            for s in range(30))
            died = "2026-03-01 12:01:00 " + FAILED.splitlines()[-1] + "\n" if rank in (2, 10) else ""
            (self.folder / "run" / f"rank_{rank}.log").write_text(steps + died.replace("12:01", f"12:0{9 - rank // 2}"))

    def report(self, *words):
        return self.run_here(*words, "--format", "json").stdout

    def parts(self, name, *words):
        done = self.run_here("analyze", "--format", "partial", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / name).write_text(done.stdout)
        return name

    def test_a_long_reading_shows_its_rate_and_the_time_left(self):
        for name in ("slow_1.log", "slow_2.log"):
            os.mkfifo(self.folder / name)
        ours, theirs = pseudo_terminal.opened()
        self.addCleanup(os.close, ours)
        words = ["analyze", "--jobs", "1", "fine.log", "slow_1.log", "slow_2.log"]
        with subprocess.Popen([BINARY, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=theirs) as running:
            os.close(theirs)
            with open(self.folder / "slow_1.log", "w") as first:  # waits until the program reads it
                time.sleep(1.2)  # a reading of less than a second shows nothing
                first.write(HEALTHY)
            text = ""
            while " left" not in text:
                text += os.read(ours, 4096).decode()
            (self.folder / "slow_2.log").write_text(HEALTHY)
            self.assertEqual(running.wait(60), 0)
        self.assertRegex(text, r"read 2 of 3 logs, \d\.\d per second, \d+ s left")

    def test_logs_are_read_in_the_order_of_their_numbers(self):
        paths = [x["path"] for x in json.loads(self.report("analyze", "run"))["inputs"]]
        self.assertEqual(paths, [f"run/rank_{rank}.log" for rank in range(12)])
        self.assertEqual(self.report("analyze", "run"), self.report("analyze", "run/rank_1?.log", "run/rank_[5-9].log",
                                                                    "run", "run/rank_0.log"))

    def test_threads_change_nothing(self):
        self.assertEqual(self.report("analyze", "--jobs", "1", "run"), self.report("analyze", "--jobs", "9", "run"))

    def test_ranks_stand_beside_each_other(self):
        report = json.loads(self.report("analyze", "run"))
        self.assertEqual([r["rank"] for r in report["ranks"]], list(range(12)))
        self.assertEqual([r["rank"] for r in report["ranks"] if r["failed"]], [2, 10])
        first = next(i for i in report["incidents"] if i["id"] == report["verdict"]["incident"])
        self.assertEqual(first["rank"], 10)  # its clock was behind rank 2's, its file is read later
        self.assertIn("12 ranks, 2 of them out of memory", self.run_here("analyze", "-v", "run").stdout)
        self.assertIn("| 10 | 20 GiB | 22.90 GiB |", self.run_here("analyze", "--format", "markdown", "run").stdout)

    def test_logs_of_different_jobs_are_judged_job_by_job(self):
        (self.folder / "run" / "slurm-4711.out").write_text(FAILED)
        (self.folder / "run" / "slurm-4712.out").write_text(HEALTHY)
        report = json.loads(self.report("analyze", "run"))
        self.assertEqual([(r["path"], r["outcome"]) for r in report["runs"]],
                         [("run/rank_10.log", "oom"), ("run/slurm-4711.out", "oom"), ("run/slurm-4712.out", "no_oom")])
        self.assertEqual({i["location"]["path"] for i in report["incidents"]}, {"run/slurm-4711.out"})
        self.assertEqual(len(report["inputs"]), 14)
        self.assertEqual(self.report("analyze", "--jobs", "1", "run"), self.report("analyze", "--jobs", "9", "run"))
        self.assertEqual(self.report("merge", self.parts("a.jsonl", "run")), self.report("analyze", "run"))
        self.assertIn("3 runs in separate logs\n", self.run_here("analyze", "run").stdout)

    def test_parts_say_together_what_the_logs_say(self):
        direct = self.report("analyze", "run")
        a, b = self.parts("a.jsonl", "run/rank_?.log"), self.parts("b.jsonl", "run/rank_1*.log")
        self.assertEqual(self.report("merge", a, b), direct)
        self.assertEqual(self.report("merge", b, a, b), direct)
        self.assertEqual(self.report("merge", "?.jsonl"), direct)
        both = self.run_here("merge", "--format", "partial", b, a).stdout
        self.assertEqual(both, self.run_here("analyze", "--format", "partial", "run").stdout)
        done = self.run_here("merge", a, b, "--output", "json=c.json")
        self.assertEqual((done.returncode, (self.folder / "c.json").read_text()), (1, direct))
        self.assertIn("\n12 files", done.stdout)
        self.assertEqual(self.run_here("merge", a, b, "--fail-on", "never").returncode, 0)

    def test_a_part_opens_no_file_that_it_names(self):
        step = "step %d | allocated %d.00 MiB | loss 2.0\n"
        log = self.folder / "grows.log"
        log.write_text("".join(step % (k, 1000 + 40 * k) for k in range(60)))
        part = self.parts("p.jsonl", "grows.log")
        log.write_text(log.read_text().replace(step % (1, 1040), "of this machine alone\n"))
        self.assertIn("of this machine alone", self.run_here("analyze", "--format", "html", "grows.log").stdout)
        self.assertNotIn("of this machine alone", self.run_here("merge", "--format", "html", part).stdout)

    def test_the_page_shows_the_lines_beside_cited_ones(self):
        lines = [f"step {k} | allocated {1000 + 40 * k}.00 MiB | loss 2.0\n" for k in range(60)]
        lines[1] = "a line beside the first value\n"
        lines[2] = "x" * 10_000_000 + "\n"
        whole = "".join(lines).encode()
        (self.folder / "grows.log").write_bytes(whole)
        (self.folder / "packed.log.gz").write_bytes(gzip.compress(whole))
        (self.folder / "cut.log.gz").write_bytes(gzip.compress(whole)[:-20])
        for name in ("grows.log", "packed.log.gz", "cut.log.gz"):
            with self.subTest(name):
                page = self.run_here("analyze", "--format", "html", name).stdout
                self.assertIn("<code>a line beside the first value</code>", page)
                self.assertNotIn("x" * 1000, page)

    def test_text_that_is_no_utf8_comes_through(self):
        (self.folder / "bad.log").write_bytes(b"\xff\xfe\x00 step 1 \xc3( \xf0\x9f\n" + FAILED.replace("train.py", "tr\xe9.py").encode("latin-1"))
        self.assertEqual(self.report("merge", self.parts("p.jsonl", "bad.log")), self.report("analyze", "bad.log"))

    def test_a_bad_part_is_left_out_and_said(self):
        good = self.run_here("analyze", "--format", "partial", "train.log").stdout
        other = self.run_here("analyze", "--format", "partial", "fine.log").stdout
        (self.folder / "third.log").write_text(HEALTHY)
        third = self.run_here("analyze", "--format", "partial", "third.log").stdout
        (self.folder / "a.jsonl").write_text("nonsense\n" + good + third[: len(third) // 2] + "\n")
        (self.folder / "b.jsonl").write_text(good.replace('"oomdoctor_partial":1', '"oomdoctor_partial":99'))
        (self.folder / "c.jsonl").write_text(other.replace('"lines":', '"lines":"many","rows":'))
        done = self.run_here("merge", "a.jsonl", "b.jsonl", "c.jsonl", "--format", "json")
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertEqual(report["verdict"]["outcome"], "oom")
        self.assertEqual(sorted(lost["why"][:9] for lost in report["lost"]), ["a.jsonl:1", "a.jsonl:3", "b.jsonl:1", "c.jsonl:1"])
        (self.folder / "fine.jsonl").write_text(other)
        for words in (["fine.jsonl", "c.jsonl"], ["c.jsonl", "fine.jsonl"]):  # the whole part of the log stays
            report = json.loads(self.run_here("merge", *words, "--format", "json").stdout)
            self.assertEqual((report["verdict"]["outcome"], report.get("lost")), ("no_oom", None))
        (self.folder / "third.jsonl").write_text(third)
        verdict = json.loads(self.run_here("merge", "third.jsonl", "c.jsonl", "--format", "json").stdout)["verdict"]
        self.assertEqual((verdict["outcome"], verdict["retry"]["decision"]), ("possible_oom", "unknown"))
        done = self.run_here("merge", "a.jsonl", "c.jsonl", "--format", "partial")
        self.assertEqual((done.returncode, done.stdout.count("\n"), done.stderr.count("left out: ")), (0, 1, 3))
        self.assertEqual(self.run_here("merge", "b.jsonl").returncode, 2)
        self.assertEqual(self.run_here("merge", "c.jsonl").returncode, 2)

    def test_steps_that_no_run_has_can_be_merged(self):
        (self.folder / "odd.log").write_text("step 1 allocated 3.0 GiB\nstep 9000000000000000000 allocated 3.0 GiB\n"
                                             + "allocated 3.1 GiB\n" * 50)
        (self.folder / "odd.jsonl").write_text(self.run_here("analyze", "--format", "partial", "odd.log").stdout)
        self.assertEqual(self.run_here("merge", "odd.jsonl").returncode, 0)

    def test_what_is_no_part(self):
        self.assert_refused(["merge"], "no parts given",
                "pass the files that oomdoctor analyze --format partial wrote: oomdoctor merge parts/*.jsonl")
        self.assert_refused(["merge", "a.json"], "file not found: a.json")
        self.assert_refused(["merge", "run"], "run is not a file of parts")
        self.assert_refused(["merge", "train.log"], "train.log:1: this is not a part of a case: it does not say of which log",
                "parts are written by oomdoctor analyze --format partial; write this one again")
        part = self.folder / self.parts("p.jsonl", "train.log")
        part.write_text(part.read_text()[:-40] + "\n")
        self.assert_refused(["merge", "p.jsonl"], "p.jsonl:1: this is not a part of a case: it is not a whole line of JSON",
                "parts are written by oomdoctor analyze --format partial; write this one again")
        part.write_text('{"oomdoctor_partial": 2, "path": "a", "digest": "b", "case": {}}\n')
        self.assert_refused(["merge", "p.jsonl"],
                "p.jsonl:1: it is of version 2 of the partial format; this oomdoctor reads 1",
                "read the logs and join the parts with the same oomdoctor")
        self.assert_refused(["analyze", "--format", "partial", "--output", "json=x", "train.log"],
                "--format partial writes no report for --output",
                "merge the parts: oomdoctor merge PART... --output FORMAT=PATH")
        piped = self.run_here("analyze", "--format", "partial", "-", stdin=FAILED)
        self.assertEqual((piped.returncode, piped.stdout), (2, ""))
        self.assertIn("cannot be read twice", piped.stderr)

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_parts_keep_their_schema_and_it_names_every_field(self):
        schema = json.loads(run("schema", "partial").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        strict = jsonschema.Draft202012Validator(close(copy.deepcopy(schema)))
        samples = pathlib.Path(__file__).resolve().parents[2] / "samples"
        done = run("analyze", "--format", "partial", str(samples / "stories"), str(samples / "healthy"), cwd=self.folder)
        parts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertGreater(len(parts), 20)
        for part in parts:
            strict.validate(part)
        parts[0]["case"]["series"] = 7
        self.assertFalse(strict.is_valid(parts[0]))


class Outputs(Case):
    def test_files_are_written_beside_the_printed_report(self):
        done = self.run_here("analyze", "--output", "json=a.json", "--output", "markdown=a.md", "--output",
                "github=a.txt", "train.log")
        self.assertIn("OUT OF MEMORY", done.stdout)
        self.assertEqual(json.loads((self.folder / "a.json").read_text())["verdict"]["outcome"], "oom")
        self.assertTrue((self.folder / "a.md").read_text().startswith("## OUT OF MEMORY\n"))
        self.assertTrue((self.folder / "a.txt").read_text().startswith("::error "))

    def test_an_output_to_a_dash_replaces_the_printed_report(self):
        done = self.run_here("analyze", "--output", "json=-", "train.log")
        self.assertEqual(json.loads(done.stdout)["verdict"]["outcome"], "oom")

    def test_a_file_is_replaced_as_a_whole(self):
        path = self.folder / "a.prom"
        path.write_text("old")
        path.chmod(0o640)
        with open(path, encoding="utf-8") as before:
            done = self.run_here("analyze", "--output", "prometheus=a.prom", "--output", "k8s=b.txt", "train.log")
            self.assertEqual((done.returncode, done.stderr, before.read()), (1, "", "old"))
        self.assertTrue(path.read_text().startswith("# HELP oomdoctor_outcome "))
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.folder / "b.txt").stat().st_mode & 0o777, 0o666 & ~mask)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.prom", "b.txt", "fine.log", "train.log"])

    def test_what_has_a_second_name_is_written_in_place(self):
        (self.folder / "real.txt").write_text("old " * 1000)
        os.link(self.folder / "real.txt", self.folder / "second.txt")
        self.run_here("analyze", "--output", "k8s=second.txt", "train.log")
        self.assertTrue((self.folder / "real.txt").read_text().startswith("OUT OF MEMORY: "))
        self.assertNotIn("old", (self.folder / "real.txt").read_text())

    def assert_nothing_written(self, words, why, **environment):
        done = self.run_here(*words, environment=environment)
        self.assertEqual(done.returncode, 0 if words[0] == "ci" else 2, words)  # ci leaves the job its own result
        self.assertIn(why, done.stderr)

    def test_nothing_is_written_through_a_link_to_a_pipe_or_to_a_device(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        secret = elsewhere / "authorized_keys"
        secret.write_text("old")
        (self.folder / "link.txt").symlink_to(secret)
        (self.folder / "out").symlink_to(elsewhere)
        os.mkfifo(self.folder / "fifo")
        for path in ("link.txt", "out/authorized_keys", "/dev/stdout"):
            self.assert_nothing_written(["analyze", "--output", f"k8s={path}", "train.log"], "it is a symbolic link")
        for path in ("fifo", "/dev/full", "/dev/null"):
            self.assert_nothing_written(["analyze", "--output", f"k8s={path}", "train.log"], "it is not a regular file")
        (self.folder / "oomdoctor-out").symlink_to(elsewhere)
        self.assert_nothing_written(["ci", "train.log"], "cannot write oomdoctor-out: it is a symbolic link")
        (self.folder / "oomdoctor-out").unlink()
        (self.folder / "oomdoctor-out").mkdir()
        (self.folder / "oomdoctor-out" / "report.html").symlink_to(secret)
        self.assert_nothing_written(["ci", "train.log"], "it is a symbolic link")
        (self.folder / "summary.md").symlink_to(secret)
        (self.folder / "oomdoctor-out" / "report.html").unlink()
        self.assert_nothing_written(["ci", "train.log"], "it is a symbolic link", GITHUB_ACTIONS="true",
                                    GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"))
        self.assertEqual(secret.read_text(), "old")
        self.assertEqual(os.listdir(elsewhere), ["authorized_keys"])

    def test_a_file_that_may_not_grow_keeps_its_old_text(self):
        (self.folder / "a.html").write_text("old")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
        done = subprocess.run([BINARY, "analyze", "--quiet", "--output", "html=a.html", "train.log"], cwd=self.folder,
                capture_output=True, text=True, timeout=60, preexec_fn=limit)
        self.assertEqual((done.returncode, (self.folder / "a.html").read_text()), (2, "old"))
        self.assertIn("cannot write a.html: File too large", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.html", "fine.log", "train.log"])

    def test_the_same_input_gives_the_same_bytes(self):
        self.assertEqual(*(self.run_here("analyze", "--format", "json", "train.log").stdout for _ in range(2)))

    def test_width_from_option_environment_and_default(self):
        def widest(*words, **environment):
            text = self.run_here("analyze", *words, "train.log", environment=environment).stdout
            return max(map(len, text.splitlines()))
        self.assertEqual(widest(), 100)
        self.assertEqual(widest(COLUMNS="80"), 80)
        self.assertEqual(widest("--width", "72", COLUMNS="80"), 72)
        self.assertEqual(widest(COLUMNS="no number"), 100)

    def test_a_locale_without_utf_8_gets_ascii(self):
        text = self.run_here("analyze", "-v", "train.log", environment={"LC_ALL": "C"}).stdout
        self.assertTrue(text.isascii() and "OUT OF MEMORY" in text and " | " in text)
        file = self.run_here("analyze", "--output", "terminal=report.txt", "train.log", environment={"LANG": "de_DE.ISO-8859-1", "LC_ALL": ""})
        self.assertTrue(file.stdout.isascii())
        self.assertIn("─", (self.folder / "report.txt").read_text())
        for locale in ("", "C.UTF-8", "en_US.utf8"):
            self.assertFalse(self.run_here("analyze", "train.log", environment={"LC_ALL": locale, "LANG": ""}).stdout.isascii(), locale)

    def test_colour_without_a_terminal(self):
        colored = lambda **environment: "\x1b[" in self.run_here("analyze", "train.log", environment=environment).stdout
        self.assertFalse(colored())
        self.assertTrue(colored(CLICOLOR_FORCE="1"))
        self.assertFalse(colored(CLICOLOR_FORCE="0"))
        self.assertFalse(colored(CLICOLOR_FORCE="1", NO_COLOR="1"))

    def test_quiet_is_the_verdict_alone(self):
        quiet = self.run_here("analyze", "-q", "--width", "60", "train.log").stdout
        self.assertTrue(quiet.startswith("OUT OF MEMORY") and "(train.log:" in quiet and quiet.count("\n") == 1, quiet)
        first = self.run_here("analyze", "--width", "300", "train.log").stdout.splitlines()[0]
        self.assertIn(first.split("]: ")[1], quiet)
        fine = self.run_here("analyze", "-q", "fine.log").stdout
        self.assertTrue(fine.startswith("NO SIGN OF MEMORY FAILURE  in ") and fine.count("\n") == 1, fine)

    def test_a_log_without_a_failure_names_the_kind_of_device(self):
        for log, name in (("jax_training/moments.log", "TPU 0"), ("npu_smi/chip_without_hbm.log", "NPU 1")):
            self.assertIn(name, self.run_here("analyze", ROOT / "samples" / log).stdout)

    def test_a_restarted_run_whose_memory_grows_has_something_to_fix(self):
        text = self.run_here("analyze", ROOT / "samples" / "kubernetes" / "described_last_state.log").stdout
        self.assertIn("Only an earlier run failed (line 10). Memory grows.", text)

    def test_a_log_in_the_place_of_a_command_is_analyzed(self):
        report = self.run_here("analyze", "train.log")
        alone = self.run_here("train.log")
        self.assertEqual((alone.returncode, alone.stdout), (report.returncode, report.stdout))
        self.assertEqual(self.run_here("train.log", "-q").stdout, self.run_here("analyze", "train.log", "-q").stdout)
        fed = run(stdin=FAILED)
        self.assertEqual((fed.returncode, fed.stdout), (report.returncode, run("analyze", "-", stdin=FAILED).stdout))
        self.assertEqual(run("version").stdout, run("--version").stdout)

    def test_options_without_a_command_are_those_of_analyze(self):
        for options in (["--quiet"], ["-v"], ["--format", "json"], ["--format=agent"], ["-q", "--width", "60"], ["-qv"]):
            self.assertEqual(self.run_here(*options, "train.log").stdout,
                             self.run_here("analyze", *options, "train.log").stdout, options)
        self.assertEqual(run("-q", stdin=FAILED).stdout, run("analyze", "-q", "-", stdin=FAILED).stdout)
        self.assertEqual(self.run_here("-v", "analyze", "train.log").stdout, self.run_here("-v", "train.log").stdout)
        self.assertEqual(self.run_here("--width", "60", "list", "causes").stdout,
                         self.run_here("list", "causes", "--width", "60").stdout)

    def test_colour(self):
        self.assertNotIn("\x1b", self.run_here("analyze", "train.log").stdout)
        self.assertIn("\x1b[1;31m", self.run_here("analyze", "--color", "always", "train.log").stdout)
        self.assertIn("\x1b[1;31m", self.on_terminal())
        self.assertNotIn("\x1b", self.on_terminal(NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_terminal("--color", "never"))

    def on_terminal(self, *words, **environment):
        ours, theirs = pseudo_terminal.opened()
        done = subprocess.Popen([BINARY, "analyze", *words, "train.log"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=theirs,
                                env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(ours)
        done.wait(60)
        return text.decode()


class UserFormats(Case):
    def setUp(self):
        super().setUp()
        for name in ("oomdoctor.toml", "train.log"):
            (self.folder / ("own.toml" if name.endswith("toml") else "own.log")).write_text((OWN / name).read_text())

    def report(self, *words):
        return json.loads(self.run_here("analyze", "--format", "json", *words, "own.log").stdout)

    def test_a_format_file_teaches_a_line(self):
        self.assertEqual(self.report()["series"], [])
        report = self.report("--format-file", "own.toml")
        self.assertEqual([(s["metric"], s["n"]) for s in report["series"]], [("allocated", 40), ("host_rss", 2)])
        self.assertIn("Read with 2 line formats of own.toml", [note["text"] for note in report["notes"]])

    def test_the_file_of_the_working_directory_is_read_unless_one_is_named(self):
        (self.folder / ".oomdoctor.toml").write_text((OWN / "oomdoctor.toml").read_text())
        report = self.report()
        self.assertEqual(len(report["series"]), 2)
        self.assertIn("Read with 2 line formats of .oomdoctor.toml", [note["text"] for note in report["notes"]])
        (self.folder / "other.toml").write_text((OWN / "oomdoctor.toml").read_text().replace("trainer/", "other/"))
        notes = [note["text"] for note in self.report("--format-file", "other.toml")["notes"]]
        self.assertTrue(any("other.toml" in text for text in notes), notes)
        both = [note["text"] for note in self.report("--format-file", "other.toml", "--format-file", "own.toml")["notes"]]
        self.assertTrue(any("other.toml" in text for text in both) and any("own.toml" in text for text in both))
        self.assertIn("other.toml", self.run_here("ci", "-v", "--format-file", "other.toml", "own.log").stdout)

    def test_they_are_listed_last_and_explained(self):
        text = self.run_here("list", "formats", "--format-file", "own.toml").stdout
        self.assertIn("\n\nyour own line formats  own.toml\n", text)
        self.assertRegex(text, r"(?m)^  trainer/step +gauge +MiB \(2\^20\)")
        self.assertIn("format trainer/step\n", self.run_here("explain", "--format-file", "own.toml", "trainer/step").stdout)

    def test_what_is_wrong_is_shown_in_its_place(self):
        text = (OWN / "oomdoctor.toml").read_text()
        (self.folder / "own.toml").write_text(text.replace('"MiB"', '"Mib"'))
        done = self.run_here("analyze", "--format-file", "own.toml", "own.log")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        line = next(i for i, row in enumerate(text.splitlines(), 1) if '"MiB"' in row)
        title = f'oomdoctor: own.toml:{line}: there is no unit "Mib"'
        self.assertEqual(done.stderr.splitlines(), [title, "  did you mean MiB?"])
        self.assertEqual(errors_at_terminal("analyze", "--format-file", "own.toml", "own.log", cwd=self.folder),
                [title, '  unit    = "Mib"', "            ^", "  did you mean MiB?"])
        self.assert_refused(["analyze", "--format-file", "owm.toml", "own.log"], "file not found: owm.toml",
                "did you mean 'own.toml'?")
        done = self.run_here("explain", "--format-file", "own.log", "leak")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.assertEqual(errors_at_terminal("explain", "--format-file", "own.log", "leak", cwd=self.folder)[1],
                "  trainer 0.4 starts, one device")

    def test_the_file_of_the_working_directory_leads_nowhere_else(self):
        secret = self.folder / "environ"
        secret.write_text("AWS_SECRET=swordfish\n")
        own = self.folder / ".oomdoctor.toml"
        os.mkfifo(self.folder / "fifo")
        for target in (secret, "/proc/self/environ", "/dev/zero", self.folder / "fifo"):
            own.symlink_to(target)
            done = self.run_here("analyze", "fine.log")
            self.assertEqual((done.returncode, done.stderr), (0, "oomdoctor: ignored .oomdoctor.toml: it is a symbolic link\n"))
            self.assert_refused(["analyze", "--format-file", ".oomdoctor.toml", "fine.log"],
                                ".oomdoctor.toml is a link, and is not followed")
            own.unlink()
        os.mkfifo(own)
        done = self.run_here("analyze", "fine.log")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_refused(["analyze", "--format-file", ".oomdoctor.toml", "fine.log"], ".oomdoctor.toml is not a file")

    def test_it_is_not_read_in_a_ci_job_unless_named(self):
        (self.folder / ".oomdoctor.toml").write_text("AWS_SECRET=swordfish\n")
        for system in ({"CI": "true"}, {"GITHUB_ACTIONS": "true"}, {"TF_BUILD": "True"}, {"TEAMCITY_VERSION": "2025.1"}):
            done = self.run_here("analyze", "fine.log", environment=system)
            self.assertEqual(done.returncode, 0, system)
            self.assertIn("in a CI job, pass it with --format-file", done.stderr)
        done = self.run_here("analyze", "--format-file", ".oomdoctor.toml", "fine.log", environment={"CI": "true"})
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("swordfish", done.stdout + done.stderr)

    def test_a_hostile_file_is_refused(self):
        deep = ".".join(["a"] * 30000)
        for text, message in ((deep + " = 1\n", "own.toml:1: a key has too many parts"),
                              ("[" + deep + "]\n", "own.toml:1: a key has too many parts"),
                              ("x = '''\n'''\n" + deep.replace(".", " . ") + " = 1\n", "own.toml:3: a key has too many parts"),
                              ("\0" * (2 << 20), "own.toml is longer than 1 MiB")):
            (self.folder / "own.toml").write_text(text)
            self.assert_refused(["analyze", "--format-file", "own.toml", "own.log"], message)
        rules = self.folder / "rules" / "causes"
        rules.mkdir(parents=True)
        (rules / "own.toml").write_text(deep + " = 1\n")
        self.assert_refused(["analyze", "--rules", "rules", "own.log"], "rules/causes/own.toml:1: a key has too many parts")


class OwnRules(Case):
    def test_a_title_cannot_command_the_terminal(self):
        rules = self.folder / "rules" / "myths"
        rules.mkdir(parents=True)
        (rules / "own-myth.toml").write_text('title = "Red \\u001b[31m and \\u202e back"\nsource = "M\\u001b[0m"\n'
                                             'when = "oom.kind == \'device\'"\nbecause = "it \\u001b]0;x\\u0007 is"\nrank = 1\n')
        for words in (["list", "myths"], ["explain", "own-myth"], ["analyze", "train.log"], ["list", "myths", "--format", "markdown"]):
            done = self.run_here(*words, "--rules", "rules", "--color", "never") if "markdown" not in words else \
                self.run_here(*words, "--rules", "rules")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            for evil in ("\x1b", "\u202e", "\x07"):
                self.assertNotIn(evil, done.stdout + done.stderr, words)


class Commands(Case):
    """In the log of a CI job nothing that others wrote begins a line as a command does."""
    BEGINS = re.compile("^[\\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*::|##\\[|##vso\\[|##teamcity\\[")
    JOB = {"GITHUB_ACTIONS": "true", "CI": "true"}

    def assert_inert(self, done):
        for line in re.split("[\n\r]", done.stdout + done.stderr):
            self.assertIsNone(self.BEGINS.search(line), line)

    def test_names_and_texts_are_no_commands_on_either_stream(self):
        commands = ("::error::x", "##[error]x", "##vso[task.setvariable variable=x]y", "##teamcity[buildStatus]")
        for name in (blank + command.replace("/", "_") for command in commands for blank in ("", "\u00a0", "\u3000 ", "\u2003")):
            for words in (["analyze", name], ["ci", name], ["explain", name], ["list", name], ["compare", name, name],
                          [name], ["analyze", "--format", name, "fine.log"], ["analyze", "--output", name, "fine.log"],
                          ["analyze", "--format-file", name, "fine.log"], ["help", name], ["estimate", "--params", name],
                          ["merge", name], ["analyze", "--why-not", name, "fine.log"]):
                self.assert_inert(self.run_here(*words, environment=self.JOB))
            log = self.folder / (name + ".log")
            log.write_text(FAILED.replace("step 1 loss", name + "\nstep 1 loss").replace("loss.backward()", name))
            for words in (["analyze", log.name], ["analyze", "--format", "markdown", log.name], ["ci", "--color", "never"],
                          ["analyze", "-v", "--width", "40", log.name], ["explain", "leak", log.name]):
                done = self.run_here(*words, environment={"CI": "true"})
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assert_inert(done)
            log.unlink()


LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu",
         "tie_word_embeddings": False}


class Explain(Case):
    LOG = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB " \
          "of which 1.00 GiB is free. Process 7 has 22.50 GiB memory in use. Of the allocated memory 14.00 GiB is allocated " \
          "by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated.\n"

    def told(self, *words):
        (self.folder / "card.log").write_text(self.LOG)
        done = self.run_here("explain", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return " ".join(done.stdout.split())

    def test_a_fact_has_its_formula_and_with_a_log_its_number(self):
        self.assertIn("computed unallocated ÷ reserved", self.told("account.frag_ratio"))
        self.assertNotIn("In card.log", self.told("account.frag_ratio"))
        self.assertIn("In card.log account.frag_ratio = 30% from card.log:1", self.told("account.frag_ratio", "card.log"))

    def test_a_cause_and_a_fix_have_their_numbers_from_a_log(self):
        self.assertIn("of cache was free", self.told("fragmentation", "card.log"))
        self.assertIn("saves 3 GiB to 4.80 GiB", self.told("expandable-segments", "card.log"))
        self.assertIn("This log shows nothing about it.", self.told("eight-bit-adam", "card.log"))


class Estimate(Case):
    def config(self, **fields):
        (self.folder / "config.json").write_text(json.dumps({**LLAMA, **fields}))

    def estimate(self, *words):
        done = self.run_here("estimate", "--format", "json", *words)
        self.assertEqual(done.stderr, "", words)
        return json.loads(done.stdout)

    def terms(self, *words):
        return {term["id"]: term["bytes"] for term in self.estimate(*words)["terms"]}

    def test_adam_all_in_16_bits_is_told_from_mixed_precision(self):
        # A 13-billion multimodal model: 26.7 GB of weights, as much of gradients, 53.4 GB of moments.
        words = ["--params", "13.35e9", "--layers", "40", "--hidden", "5120", "--heads", "40", "--intermediate", "13824",
                 "--vocab", "32000", "--gated", "--seq", "2048", "--card", "A100-80GB"]
        pure = self.terms(*words, "--precision", "bf16")
        for term, gigabytes in {"weights": 26.7, "gradients": 26.7, "optimizer": 53.4}.items():
            self.assertAlmostEqual(pure[term] / 1e9, gigabytes, delta=0.05)
        self.assertAlmostEqual(self.terms(*words)["optimizer"] / 1e9, 160.2, delta=0.1)
        notes = self.run_here("estimate", *words, "--precision", "bf16").stdout
        self.assertIn("would take 149 GiB instead of 49.7 GiB", " ".join(notes.split()))

    def test_a_config_and_the_same_sizes_give_the_same(self):
        self.config()
        sizes = ["--layers", "32", "--hidden", "4096", "--heads", "32", "--kv-heads", "8", "--intermediate", "14336",
                 "--vocab", "128256", "--gated", "--seq", "8192"]
        self.assertEqual(self.estimate("--config", "config.json", "--seq", "8192"), self.estimate(*sizes))
        self.assertEqual(self.terms(*sizes)["weights"], 2 * 8030261248)

    # What a trainer's settings say: the same estimate as that of the options.
    TRAINERS = {
        "axolotl.yml": ("""\
# QLoRA of a small model
base_model: NousResearch/Meta-Llama-3-8B   # the base
load_in_8bit: false
load_in_4bit: true
datasets:
  - path: some/data
    sequence_len: 17
adapter: qlora
sequence_len: 4096
lora_r: 32
lora_target_modules:
  - q_proj
  - v_proj
gradient_accumulation_steps: 4
micro_batch_size: 2
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
""", "--batch 2 --accumulation 4 --seq 4096 --lora-rank 32 --lora-targets query-value --bits 4 --checkpointing full "
     "--optimizer AdamW-8bit"),
        "full.yaml": ("""\
base_model: "NousResearch/Meta-Llama-3-8B"
sequence_len: 8192
micro_batch_size: 1
optimizer: adamw_torch_fused
bf16: true
gradient_checkpointing:
lora_r: 64
""", "--batch 1 --seq 8192 --optimizer AdamW --precision bf16"),
        "llama_factory.yaml": ("""\
### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
finetuning_type: lora
lora_target: all
deepspeed: examples/deepspeed/ds_z3_config.json
cutoff_len: 2048
per_device_train_batch_size: 1
bf16: true
""", "--batch 1 --seq 2048 --lora-rank 8 --checkpointing full"),
    }

    def test_the_settings_of_a_trainer_are_options(self):
        for name, (text, options) in self.TRAINERS.items():
            (self.folder / name).write_text(text)
            self.assertEqual(self.estimate("--config", name), self.estimate("--model", "llama-3-8b", *options.split()))
            of_sharding = "; it shards \\(stage 3\\), which counts with the number of ranks: --dp 8"
            self.assert_noted(f"{name} says --model ", options, "--config", name,
                              more=of_sharding if "z3" in text else "")

    def assert_noted(self, begin, end, *words, more=""):
        text = " ".join(self.run_here("estimate", *words).stdout.split())
        self.assertRegex(text, f"note {re.escape(begin)}\\S+ {re.escape(end)}{more} ")

    def test_a_command_of_a_training_is_options_and_an_option_has_the_last_word(self):
        command = ("-- accelerate launch --num_processes 2 train.py --model_name_or_path Qwen/Qwen2.5-7B --fp16 "
                   "--per-device-train-batch-size=4 --max_seq_length 1024 --deepspeed zero2.json --optim adafactor").split()
        same = "--model qwen2.5-7b --batch 4 --seq 1024 --dp 2 --zero 2 --precision amp --optimizer Adafactor".split()
        self.assert_noted("the command says --model ", "--batch 4 --seq 1024 --dp 2 --optimizer Adafactor --precision amp --zero 2",
                          *command)
        self.assertEqual(self.estimate(*command), self.estimate(*same))
        self.assertEqual(self.terms("--batch", "1", *command), self.terms(*same, "--batch", "1"))

    def test_the_command_of_a_diffusers_script_is_options(self):
        command = ("-- accelerate launch --mixed_precision fp16 train_text_to_image{}.py --resolution=768 --train_batch_size=2 "
                   "--pretrained_model_name_or_path=stabilityai/stable-diffusion-2-1 --gradient_checkpointing --use_8bit_adam")
        same = "--model sd-2.1 --image 768x768 --batch 2 --checkpointing full --optimizer AdamW-8bit"
        self.assertEqual(self.terms(*command.format("").split()), self.terms(*same.split(), "--precision", "amp"))
        self.assertEqual(self.terms(*command.format("_lora").split(), "--rank", "8"), self.terms(*same.split(), "--lora-rank", "8"))
        self.assertEqual(self.terms(*command.format("_lora").split()), self.terms(*same.split(), "--lora-rank", "4"))

    def test_settings_in_other_spellings(self):
        base = "base_model: llama-3-8b\nsequence_len: 2048\n"
        for settings, options, note in (
                ("micro_batch_size: 2\r\n", "--batch 2", ""), ("micro_batch_size: auto\n", "", "'auto' gives no --batch"),
                ("optimizer: galore_adamw\n", "", "the optimizer galore_adamw is not known"),
                ("optimizer: paged_adamw_32bit\n", "--optimizer AdamW", ""), ("fsdp: false\n", "", ""),
                ("num_gpus: 4\nfsdp:\n  - shard_grad_op\n  - auto_wrap\n", "--dp 4 --zero 2", ""),
                ("num_gpus: 4\nfsdp: full_shard auto_wrap\n", "--dp 4 --zero 3", ""),
                ("num_gpus: 4\nfsdp: no_shard\n", "--dp 4", "")):
            (self.folder / "run.yml").write_bytes(b"\xef\xbb\xbf" + (base + settings).encode())
            same = self.estimate("--model", "llama-3-8b", "--seq", "2048", *options.split())
            self.assertEqual(self.estimate("--config", "run.yml"), same, settings)
            self.assertIn(note, " ".join(self.run_here("estimate", "--config", "run.yml").stdout.split()))
        nodes = "-- torchrun --nnodes 2 --nproc_per_node 8 train.py --model_name llama-3-8b --fsdp".split()
        self.assertEqual(self.estimate(*nodes, "", "--block_size", "2048"),
                         self.estimate("--model", "llama-3-8b", "--seq", "2048", "--dp", "16"))
        self.config()
        self.assertEqual(self.estimate("--config", "config.json", "--", "train", "--model_name", "x", "--block_size", "64"),
                         self.estimate("--config", "config.json", "--seq", "64"))
        self.assert_refused(["estimate", "foo", "bar", "--params", "7B"],
                            "unexpected argument 'foo': estimate takes options, and a command after --",
                            "see oomdoctor estimate --help")

    def test_settings_that_say_nothing_or_nonsense_are_errors(self):
        for text, words in (("- 1\n", "says nothing"), (": :\n\t\n", "says nothing"), ("\0\xff" * 99, "says nothing"),
                            ("base_model: some/unknown-thing\n", "unknown"),
                            ("sequence_len: ${LENGTH}\n", "says nothing")):
            (self.folder / "run.yml").write_text(text)
            done = self.run_here("estimate", "--config", "run.yml")
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn(words, done.stderr)

    def test_published_models_have_their_parameters(self):
        self.assertGreaterEqual(len(published_models.PUBLISHED), 40)
        for name, (total, fields) in published_models.PUBLISHED.items():
            (self.folder / "config.json").write_text(json.dumps(fields))
            words = ["--config", "config.json", "--task", "generate", "--precision", "bf16", "--batch", "1"]
            self.assertEqual(self.terms(*words)["weights"], 2 * total, name)

    def test_models_by_name_have_their_published_parameters(self):
        with open(ROOT / "src/cli/published_models.toml", "rb") as file:
            rows = tomllib.load(file)["model"]
        self.assertGreaterEqual(len(rows), 150)
        for row in rows:
            with self.subTest(model=row["name"]):
                done = self.estimate("--model", row["name"])
                self.assertTrue(done["model"].startswith(row["name"] + ": "))
                self.assertAlmostEqual(done["parameters"] / row["parameters"], 1, delta=0.01)
                self.assertLessEqual({term["label"] for term in done["missing"]},
                                     {"activations", "decoder's activations", "encoder's activations",
                                      "keys and values of the encoder", "attention scores", "logits and loss"})

    def test_a_model_has_the_names_that_people_use(self):
        for name, typed in {
                "Llama-3-8B": ("llama-3-8b", "meta-llama/Meta-Llama-3-8B-Instruct", "Llama 3 8B", "llama3:8b", "LLAMA_3_8B"),
                "Llama-3.1-70B": ("llama 3.1 70b instruct", "meta-llama/Llama-3.1-70B"),
                "Llama-2-7B": ("llama2-7b", "meta-llama/Llama-2-7b-chat-hf", "lmsys/vicuna-7b-v1.5"),
                "Mistral-7B": ("mistral-7b", "mistralai/Mistral-7B-Instruct-v0.2"), "vit-huge-14": ("ViT-H/14", "vit-h-14"),
                "DeepSeek-V3": ("deepseek-v3", "deepseek-ai/DeepSeek-R1"), "bert-large": ("bert-large-uncased",)}.items():
            for each in typed:
                self.assertTrue(self.estimate("--model", each)["model"].startswith(name + ": "), each)
        for typed, near in (("llama-3", "did you mean Llama-3-8B or Llama-3-70B?"), ("falcon", "did you mean falcon-7b or falcon-40b?"),
                            ("Qwen/Qwen2.5-7B-Instruct-AWQ", "did you mean Qwen2.5-7B?"), ("mixtrall-8x7b", "did you mean Mixtral-8x7B?"),
                            ("stable-cascade", "oomdoctor list models prints the known ones; for any other: --config config.json")):
            self.assert_refused(["estimate", "--model", typed], f"unknown model '{typed}' in --model", near)
        self.assertIn("Mixtral-8x7B", run("list", "models").stdout)

    def test_image_generators_are_counted_whole(self):
        for typed in ("sdxl", "stabilityai/stable-diffusion-xl-base-1.0", "flux-dev", "stable-diffusion-v1-5", "sd3", "pixart-alpha",
                      "facebook/DiT-XL-2-256"):
            for task in ("train", "generate"):
                done = self.estimate("--model", typed, "--batch", "4", "--task", task)
                self.assertEqual(done["missing"], [], typed)
                self.assertIn("activations", {term["id"] for term in done["terms"]}, typed)
        self.assertEqual(self.terms("--model", "sdxl")["optimizer"], 12 * 2567463684)
        done = self.run_here("estimate", "--model", "sdxl", "--batch", "4", "--card", "4090")
        self.assertIn("training, 4 images of 1024 × 1024 pixels in a pass", done.stdout)
        self.assertIn("DOES NOT FIT", done.stdout)
        self.assertEqual([term["label"] for term in self.estimate("--model", "sd-vae-ft-mse")["missing"]], ["activations"])
        for kind in ("unet", "dit", "vae"):  # the words of a row in a file say nothing
            (self.folder / "config.json").write_text(json.dumps({"model_type": kind, "parameters": 83000000}))
            done = self.estimate("--config", "config.json", "--task", "generate", "--card", "80GiB")
            self.assertEqual((done["outcome"], [term["label"] for term in done["missing"]]), ("unknown", ["activations"]))

    def test_the_vae_decodes_after_the_steps_of_a_generation(self):
        words = ["--model", "sdxl", "--task", "generate", "--batch", "4"]
        whole = self.estimate(*words)
        self.assertEqual(whole["peak"]["moment"], "decode")
        decode = {name: self.terms(*words, *options).get("decode")
                  for name, options in {"whole": [], "sliced": ["--decode", "sliced"], "large": ["--image", "2048x2048"],
                                        "tiled": ["--image", "2048x2048", "--decode", "tiled"], "none": ["--decode", "none"]}.items()}
        self.assertEqual(decode["whole"], 4 * 1024 * 4 * 2**20)  # four bytes, 1024 numbers of a pixel, four images
        self.assertEqual((decode["sliced"], decode["large"], decode["tiled"]),
                         (decode["whole"] // 4, 4 * decode["whole"], decode["whole"]))
        self.assertIsNone(decode["none"])
        alone = self.estimate(*words, "--offload", "models")
        self.assertEqual({term["id"]: term["moment"] for term in alone["terms"]},
                         {"weights": "pass", "text_encoders": "encode", "vae": "decode", "activations": "pass", "decode": "decode",
                          "context": "always"})
        plan = self.estimate(*words, "--card", "16GiB")["plan"]
        self.assertTrue(plan["fits"])
        self.assertIn("sliced_decode", {change["id"] for change in plan["changes"]})
        cached = self.terms("--model", "sdxl", "--lora-rank", "16", "--offload", "models")
        self.assertFalse({"text_encoders", "vae", "encode"} & cached.keys())
        for words, message in ((["--model", "llama-3-8b", "--offload", "models"], "--offload models needs an image generator"),
                               (["--model", "sdxl", "--decode", "tiled"], "--decode needs an image generator that generates"),
                               (["--model", "sdxl", "--seq", "77"], "--seq: no text is in the sequence of this model"),
                               (["--model", "sdxl", "--image", "1024x1024/16"], "invalid --image '1024x1024/16'")):
            self.assert_refused(["estimate", *words], message)

    def test_a_gpu_is_named_by_either_option(self):
        words = ["--params", "1B", "--task", "generate"]
        self.assertEqual(self.estimate(*words, "--gpu", "a100-80g"), self.estimate(*words, "--card", "a100-80g"))

    def test_a_mixture_of_experts_is_counted_whole(self):
        _, fields = published_models.PUBLISHED["Mixtral-8x7B"]
        (self.folder / "config.json").write_text(json.dumps({**fields, "num_experts_per_tok": 2}))
        words = ["--seq", "2048", "--card", "A100-80GB"]
        config, named = self.estimate("--config", "config.json", *words), self.estimate("--model", "mixtral-8x7b", *words)
        self.assertEqual({**config, "model": ""}, {**named, "model": ""})
        self.assertEqual((named["parameters"], named["active_parameters"], named["missing"]), (46702792704, 12879925248, []))
        for change in named["plan"]["changes"]:
            self.assertGreater(change["saves_bytes"], 0)
        (self.folder / "config.json").write_text(json.dumps({**fields, "num_experts_per_tok": 80}))
        self.assertEqual(self.estimate("--config", "config.json")["active_parameters"], 46702792704)
        done = self.run_here("estimate", "--model", "deepseek-v2-lite", "--task", "generate", "--seq", "4096").stdout
        self.assertIn("the KV cache is that of transformers, with 5,120 numbers per token and layer; vLLM and SGLang keep 576",
                      " ".join(done.split()))

    def test_an_encoder_decoder_is_counted_whole(self):
        for name in ("whisper-large-v3", "bart-large", "t5-3b", "nllb-200-600M"):
            estimate = self.estimate("--model", name, "--seq", "448", "--batch", "8")
            self.assertEqual(estimate["missing"], [], name)
            self.assertIn("encoder_activations", {term["id"] for term in estimate["terms"]}, name)
        _, fields = published_models.PUBLISHED["t5-large"]
        (self.folder / "config.json").write_text(json.dumps(fields))
        words = ["--config", "config.json", "--seq", "128", "--batch", "2"]
        done = self.run_here("estimate", *words, "--source-seq", "1024", "--card", "4090").stdout
        self.assertIn("2 × 1024 tokens of the encoder and 128 tokens of the decoder in a pass", done)
        self.assertIn("eager attention", done)
        self.assertNotIn("sdpa", done)
        self.assertIn("the longest sequence 448 tokens", " ".join(self.run_here(
            "estimate", "--model", "whisper-small", "--seq", "448", "--card", "80GiB").stdout.split()))
        self.assertIn("the model has 448 positions, which is less than the 1024 tokens of a sample", " ".join(self.run_here(
            "estimate", "--model", "whisper-small", "--seq", "1024").stdout.split()))

    def test_a_model_and_a_gpu_are_enough_for_an_answer(self):
        words = ["--model", "llama-3-8b", "--lora-rank", "16", "--card", "4090"]
        estimate = self.estimate(*words)
        self.assertIn("2,048 tokens in a sample", estimate["assumed"])
        self.assertEqual({**estimate, "assumed": []}, {**self.estimate(*words, "--seq", "2048"), "assumed": []})
        self.assertEqual((estimate["outcome"], estimate["plan"]["fits"]), ("does_not_fit", True))
        longest = estimate["longest_sequence"]
        self.assertIn(f"samples of up to {longest} tokens fit", " ".join(self.run_here("estimate", *words).stdout.split()))
        self.assertEqual(self.estimate(*words, "--seq", str(longest))["largest_batch"], 1)
        self.assertIn("512 tokens in a sample", self.estimate("--model", "bert-base", "--card", "4090")["assumed"])
        self.assertIn("needs --seq, --hidden, --layers", " ".join(self.run_here("estimate", "--params", "7B").stdout.split()))

    def test_a_sweep_ends_with_the_largest_batch_of_each_length(self):
        words = ["--model", "llama-3-8b", "--lora-rank", "16", "--seq", "2048", "--card", "A100-80GB", "--sweep"]
        done = self.estimate(*words)
        sweep = done["sweep"]
        largest = dict(zip(sweep["sequences"], sweep["largest_batches"]))
        self.assertEqual(largest[2048], done["largest_batch"])
        for point in sweep["points"]:
            self.assertEqual(point["fits"], point["batch"] <= largest[point["sequence"]])
        for width in (40, 60, 100):
            text = self.run_here("estimate", *words, "--width", str(width)).stdout
            self.assertLessEqual(max(map(len, text.splitlines())), width)
        self.assertRegex(text, r"(?m)^  tokens .*2,048")
        self.assertRegex(text, rf"(?m)^  largest .* {done['largest_batch']}\b")
        short = self.estimate("--model", "whisper-small", "--card", "t4", "--sweep")["sweep"]
        self.assertEqual(short["sequences"], [128, 256, 448])  # it has 448 positions
        self.assert_refused(["estimate", "--model", "gpt2", "--sweep"], "--sweep needs a GPU", "name it: --card a100-80g")

    def test_half_a_model_never_fits(self):
        for fields in ({"text_config": LLAMA, "vision_config": {}, "tie_word_embeddings": False},
                       {"text_config": LLAMA, "audio_config": {"hidden_size": 64}},
                       {"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100},
                       {"model_type": "dbrx", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100,
                        "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4}},
                       {"model_type": "t5", "d_model": 64, "d_ff": 128, "num_decoder_layers": 2, "num_heads": 4, "vocab_size": 100},
                       {"model_type": "wav2vec2", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                        "vocab_size": 32, "conv_dim": [512, 512]}):
            (self.folder / "config.json").write_text(json.dumps(fields))
            self.assertEqual(self.estimate("--config", "config.json", "--seq", "128", "--lora-rank", "8", "--card", "80GiB")["outcome"],
                             "unknown", fields)

    def test_weights_and_cache_of_fewer_bits(self):
        words = ["--model", "llama-2-7b", "--task", "generate", "--seq", "4096"]
        whole, eight, four = (self.terms(*words, *bits) for bits in
                              ([], ["--bits", "8", "--cache-bits", "8"], ["--bits", "4", "--cache-bits", "4"]))
        self.assertIn("16-bit weights", self.estimate(*words)["assumed"])
        self.assertNotIn("16-bit weights", self.estimate(*words, "--bits", "4")["assumed"])
        self.assertEqual(whole["weights"], 2 * 6738415616)
        self.assertEqual(eight["weights"], 6738415616 + 262144000)  # the tables stay in 16 bits
        self.assertEqual(whole["key_value_cache"], 2 * eight["key_value_cache"])
        self.assertAlmostEqual(four["key_value_cache"] / whole["key_value_cache"], 4.5 / 16, delta=0.001)

    def test_a_tower_of_images_is_counted_with_its_model(self):
        _, text = published_models.PUBLISHED["Llama-2-7b"]
        tower = {"model_type": "clip_vision_model", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                 "intermediate_size": 4096, "image_size": 336, "patch_size": 14}
        (self.folder / "config.json").write_text(json.dumps({"text_config": text, "vision_config": tower}))
        words = ["--config", "config.json", "--task", "generate", "--precision", "bf16", "--batch", "1", "--seq", "128"]
        self.assertEqual(self.terms(*words)["weights"] / 2 - 6738415616, 303507456)

    def test_a_model_of_images_alone_has_patches_and_no_logits(self):
        sizes = ["--layers", "12", "--hidden", "768", "--heads", "12", "--image", "224x224/16", "--batch", "64", "--attention", "eager"]
        estimate = self.estimate(*sizes)
        terms = {term["id"]: term["bytes"] for term in estimate["terms"]}
        self.assertEqual(estimate["missing"], [])
        self.assertNotIn("logits", terms)
        self.assertEqual(terms["activations"], 34 * 64 * 197 * 768 * 12)
        self.assertEqual(terms["scores"], 5 * 64 * 197 * 197 * 12 * 12)
        self.assertAlmostEqual(terms["weights"] / 2 / 85.8e6, 1, delta=0.005)
        (self.folder / "config.json").write_text(json.dumps({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12,
                "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224, "patch_size": 16}))
        read = self.terms("--config", "config.json", "--batch", "64", "--attention", "eager")
        self.assertEqual(read["activations"], terms["activations"])
        self.assertNotIn("key_value_cache", self.terms(*sizes, "--task", "inference"))

    def test_a_global_batch_is_kept_exactly(self):
        words = ["--params", "8B", "--layers", "32", "--hidden", "4096", "--heads", "32", "--kv-heads", "8", "--intermediate", "14336",
                 "--gated", "--vocab", "128256", "--seq", "2048", "--dp", "8", "--zero", "3", "--checkpointing", "full", "--card", "80GiB"]
        self.assertIn("8 × 2048 tokens in a pass, 8 passes on 8 ranks: 512 samples a step",
                      self.run_here("estimate", *words, "--global-batch", "512").stdout)
        self.assertIn("4 × 2048 tokens in a pass, 16 passes on 8 ranks: 512 samples a step",
                      self.run_here("estimate", *words, "--global-batch", "512", "--batch", "4").stdout)

    def test_an_option_beside_a_config_has_the_last_word(self):
        self.config()
        self.assertEqual(self.terms("--config", "config.json", "--params", "7B")["weights"], 14 * 10**9)

    def test_names_of_other_families_and_nested_sizes(self):
        (self.folder / "config.json").write_text(json.dumps({"n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
                "vocab_size": 50257, "activation_function": "gelu_new"}))
        self.assertEqual(self.terms("--config", "config.json")["weights"], 2 * (50257 * 768 + 12 * (12 * 768**2 + 1536) + 768))
        (self.folder / "config.json").write_text(json.dumps({"text_config": LLAMA, "vision_config": {},
                "tie_word_embeddings": False}))
        self.assertEqual(self.terms("--config", "config.json")["weights"], 2 * 8030261248)
        self.assertIn("the encoder of images is not counted", self.run_here("estimate", "--config", "config.json").stdout)

    def test_experts_need_their_parameters(self):
        self.config(num_local_experts=8)
        self.assertNotIn("weights", self.terms("--config", "config.json"))
        estimate = self.estimate("--config", "config.json", "--params", "47B", "--seq", "4096")
        self.assertEqual([(m["label"], m["needs"]) for m in estimate["missing"]], [("activations", [])])

    def test_numbers_as_people_write_them(self):
        for text in ("7B", "7b", "7e9", "7000M", "7,000,000,000"):
            self.assertEqual(self.terms("--params", text)["weights"], 14 * 10**9)

    def test_names_without_regard_to_case(self):
        self.assertEqual(self.terms("--params", "7B", "--optimizer", "adamw-8BIT", "--precision", "BF16")["optimizer"],
                14 * 10**9)
        self.assertEqual(self.estimate("--params", "1B", "--card", "a100 80gb")["capacity_bytes"], round(79.15 * 2**30))

    def test_exit_status_and_outcome(self):
        self.config()
        small = ["--config", "config.json", "--seq", "2048", "--lora-rank", "16", "--checkpointing", "full"]
        for words, status, outcome in (((*small, "--card", "80GiB"), 0, "fits"), ((*small, "--card", "12GiB"), 1, "does_not_fit"),
                                       (("--params", "1B", "--card", "80GiB"), 0, "unknown"), (("--params", "1B"), 0, "unknown")):
            self.assertEqual(self.run_here("estimate", *words).returncode, status, words)
            self.assertEqual(self.estimate(*words)["outcome"], outcome, words)

    def test_a_card_may_be_named_as_the_driver_names_it(self):
        self.config()
        words = ["--config", "config.json", "--batch", "1", "--seq", "512"]
        for printed, short in (("NVIDIA A100-SXM4-80GB", "A100-80GB"), ("Tesla T4", "T4"),
                               ("NVIDIA GeForce RTX 4090", "RTX-4090")):
            self.assertEqual(self.estimate(*words, "--card", printed), self.estimate(*words, "--card", short))

    def test_a_card_may_have_its_size_beside_its_name(self):
        for typed, size in (("4090", 23.52), ("RTX 4090 24GB", 23.52), ("3080 10 GB", 9.77), ("a100-80g", 79.15), ("a100 80 gb pcie", 79.15),
                            ("h100 96gb", 96), ("RTX 4090 48GB", 48), ("24GB", 24), ("mi300x", 191.69), ("t4", 14.56)):
            self.assertEqual(self.estimate("--params", "1B", "--card", typed)["capacity_bytes"], round(size * 2**30), typed)

    def test_what_fits_comes_with_its_largest_batch(self):
        self.config()
        words = ["--config", "config.json", "--seq", "2048", "--lora-rank", "16", "--card", "H100"]
        largest = self.estimate(*words)["largest_batch"]
        self.assertEqual(self.run_here("estimate", *words, "--batch", str(largest)).returncode, 0)
        self.assertEqual(self.run_here("estimate", *words, "--batch", str(largest + 1)).returncode, 1)

    def test_a_plan_adds_up(self):
        self.config()
        estimate = self.estimate("--config", "config.json", "--seq", "8192", "--batch", "4", "--card", "A100-80GB")
        peak = estimate["peak"]["bytes"]
        self.assertTrue(estimate["plan"]["fits"])
        for change in estimate["plan"]["changes"]:
            peak -= change["saves_bytes"]
            self.assertEqual(change["peak_bytes"], peak)
        self.assertLessEqual(peak, estimate["capacity_bytes"] - estimate["margin_bytes"])

    def test_the_account_adds_up_and_keeps_the_width(self):
        self.config()
        words = ["--config", "config.json", "--seq", "8192", "--batch", "4", "--card", "A100-80GB"]
        for width in (40, 60, 100):
            text = self.run_here("estimate", *words, "--width", str(width)).stdout
            self.assertLessEqual(max(map(len, text.splitlines())), width)
        self.assertIn("\nDOES NOT FIT  ", text)
        estimate = self.estimate(*words)
        self.assertEqual(sum(t["bytes"] for t in estimate["terms"] if t["moment"] in ("always", estimate["peak"]["moment"])),
                estimate["peak"]["bytes"])

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_estimates_keep_their_schema_and_it_names_every_field(self):
        self.config()
        schema = json.loads(run("schema", "estimate").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        strict = jsonschema.Draft202012Validator(close(copy.deepcopy(schema)))
        for words in (["--params", "7B"], ["--model", "mixtral-8x7b"],
                      ["--config", "config.json", "--seq", "8192", "--batch", "4", "--card", "A100-80GB"],
                      ["--config", "config.json", "--seq", "2048", "--card", "H100", "--sweep"],
                      ["--config", "config.json", "--seq", "2048", "--card", "4090", "--zero", "3", "--dp", "8",
                       "--offload", "all"]):
            strict.validate(self.estimate(*words))

    def test_options_that_cannot_be(self):
        for words, message, advice in (
                ([], "no model given", "name one: --model llama-3-8b; or use --config config.json, or give sizes: --params 7B --layers 32 ..."),
                (["--model", "gpt2", "--config", "config.json"], "--model and --config both describe the model", "give one of them"),
                (["--model", "vit-h-14", "--seq", "128"], "--seq: a model of images has no tokens of a text", ""),
                (["--model", "gpt2", "--source-seq", "128"], "--source-seq needs a model with an encoder and a decoder", ""),
                (["--model", "whisper-tiny", "--source-seq", "128"],
                 "--source-seq: each sample of this model has 1500 tokens in the encoder", ""),
                (["--model", "gpt2", "--cache-bits", "8"], "--cache-bits needs a run with a KV cache", "add --task generate"),
                (["--params", "seven"], "invalid --params 'seven'",
                 "give a whole number from 1 to 1,000,000,000,000,000, for example 4096, 350M or 6.74e9"),
                (["--params", "7B", "--layers", "0"], "invalid --layers '0'", ""),
                (["--params", "7B", "--layers", "nan"], "invalid --layers 'nan'", ""),
                (["--params", "7B", "--seq", "1.5"], "invalid --seq '1.5'", ""),
                (["--params", "7B", "--optimizer", "adamv"], "invalid --optimizer 'adamv'", ""),
                (["--params", "7B", "--card", "H10"], "unknown GPU 'H10'", ""),
                (["--params", "7B", "--card", "0GiB"], "unknown GPU '0GiB'", ""),
                (["--params", "7B", "--card", "a100 sxm"], "unknown GPU 'a100 sxm'", "did you mean A100-40GB or A100-80GB?"),
                (["--params", "7B", "--card", "4060 ti"], "unknown GPU '4060 ti'", "did you mean RTX-4060-Ti-16GB?"),
                (["--params", "7B", "--card", "24"], "unknown GPU '24'", "a size needs its unit: 24GB"),
                (["--params", "7B", "--card", "8xH100"], "unknown GPU '8xH100'",
                 "name one GPU; --dp, --tp and --pp say how many share the work"),
                (["--params", "7B", "--image", "10x"], "invalid --image '10x'",
                 "use WIDTHxHEIGHT/PATCH in pixels, for example 1024x768/28"),
                (["--params", "7B", "--global-batch", "9", "--dp", "2"], "a global batch of 9 cannot be divided over 2 ranks", ""),
                (["--params", "7B", "--global-batch", "9", "--batch", "2"],
                 "9 samples of a rank cannot be divided into micro-batches of 2", ""),
                (["--params", "7B", "--global-batch", "8", "--accumulation", "2"], "--global-batch already sets the accumulation: drop --accumulation, and --task inference", ""),
                (["--params", "7B", "--zero", "2"], "--zero needs more than one rank", "set the number of ranks: --dp 8"),
                (["--params", "7B", "--offload", "all"], "--offload all needs --zero 3", ""),
                (["--params", "7B", "--bits", "4"], "quantized weights cannot be trained", ""),
                (["--params", "7B", "--format", "github"], "invalid --format 'github'", "choose one of: terminal, json"),
                (["model.json"], "unexpected argument 'model.json': estimate takes options, and a command after --", "")):
            self.assert_refused(["estimate", *words], message, advice)

    def test_sizes_beyond_their_range(self):
        fields = {"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "vocab_size": 100, "intermediate_size": 128, "num_key_value_heads": 4, "head_dim": 16,
                  "n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 32}
        largest = {"num_hidden_layers": 100_000, "first_k_dense_replace": 100_000, "vocab_size": 1_000_000_000}
        may_be_absent = ("n_routed_experts", "n_shared_experts", "first_k_dense_replace")
        for name in list(fields)[1:]:
            last = largest.get(name, 10_000_000)
            wrong = [-1, 1.5, 10**18, last + 1, True, "4"] + ([] if name in may_be_absent else [0])
            for value in wrong:
                (self.folder / "config.json").write_text(json.dumps({**fields, name: value}))
                self.assert_refused(["estimate", "--config", "config.json"], f"config.json: {name} cannot be {json.dumps(value)}",
                                    f"{name} must be a whole number from {int(name not in may_be_absent)} to {last:,}")
            for value in [last] + ([0] if name in may_be_absent else [1]):
                (self.folder / "config.json").write_text(json.dumps({**fields, name: value}))
                done = self.run_here("estimate", "--config", "config.json", "--seq", "128", "--card", "80GiB")
                self.assertIn(done.returncode, (0, 1), (name, value, done.stderr))
        (self.folder / "config.json").write_text(json.dumps({**fields, "hidden_size": float("nan")}))
        self.assert_refused(["estimate", "--config", "config.json"], "config.json is not a JSON object")

    def test_options_beyond_their_range(self):
        sizes = {"--params": 10**15, "--trainable": 10**15, "--layers": 10**5, "--hidden": 10**7, "--heads": 10**7,
                 "--kv-heads": 10**7, "--head-size": 10**7, "--intermediate": 10**7, "--vocab": 10**9, "--batch": 10**9,
                 "--seq": 10**9, "--accumulation": 10**9, "--global-batch": 10**9, "--lora-rank": 10**5, "--dp": 10**6,
                 "--tp": 10**6, "--pp": 10**6, "--cp": 10**6}
        for option, largest in sizes.items():
            for value in ("0", "-1", "1.5", "nan", "inf", "1e300", str(largest + 1)):
                self.assert_refused(["estimate", "--params", "7B", option, value], f"invalid {option} '{value}'",
                                    f"give a whole number from 1 to {largest:,}, for example 4096, 350M or 6.74e9")
            done = self.run_here("estimate", "--params", "7B", option, str(largest), "--card", "80GiB")
            self.assertIn(done.returncode, (0, 1), (option, done.stderr))

    def test_products_beyond_their_range(self):
        layer = ["--hidden", "4096", "--heads", "32", "--vocab", "32000"]
        for words, message, advice in (
                (["--layers", "100000", "--hidden", "10000000", "--vocab", "32000"],
                 "the model has more than 1,000,000,000,000,000 parameters",
                 "check the layers, the hidden size, the MLP's width, the experts and the vocabulary"),
                (["--params", "7B", "--dp", "1000", "--tp", "1000", "--pp", "2"], "the job has more than 1,000,000 GPUs",
                 "check the product of --dp, --tp, --pp and --cp"),
                (["--params", "7B", "--batch", "1e9", "--accumulation", "1e9"],
                 "a step has more than 1,000,000,000,000,000 samples",
                 "check the product of --batch, --accumulation and --dp"),
                (["--layers", "32", *layer, "--batch", "1e9", "--seq", "1e9"],
                 "activations would take more than 256 PiB", "check the sizes of the model, --batch and --seq")):
            self.assert_refused(["estimate", *words], message, advice)
        for kind, experts in (("llama", 1), ("bert", 1), ("mixtral", 10**7)):  # counted by their fields
            (self.folder / "config.json").write_text(json.dumps({
                "model_type": kind, "hidden_size": 10**7, "num_hidden_layers": 10**5, "num_attention_heads": 32,
                "vocab_size": 30522, "intermediate_size": 10**7, "max_position_embeddings": 512,
                "num_local_experts": experts}))
            self.assert_refused(["estimate", "--config", "config.json"],
                                "the model has more than 1,000,000,000,000,000 parameters")

    def test_a_global_batch_without_divisors_is_split_at_once(self):
        # Nearly the whole batch fits. A prime number has no smaller divisor than itself but 1.
        words = ["--params", "1B", "--layers", "2", "--hidden", "64", "--vocab", "100", "--seq", "8", "--card", "40000GiB"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        text = self.run_here("estimate", *words, "--global-batch", "999999937").stdout
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 1)
        self.assertIn("training, 1 × 8 tokens in a pass, 999999937 passes on 1 rank: 999999937 samples a step", text)

    def test_configs_that_are_none(self):
        def refused(text, message):
            (self.folder / "config.json").write_text(text)
            self.assert_refused(["estimate", "--config", "config.json"], message)
        self.assert_refused(["estimate", "--config", "nowhere.json"], "file not found: nowhere.json")
        self.assert_refused(["estimate", "--config", "."], ". is not a file")
        for text in ("", "[", "[]", "7", "[" * 100000, '{"hidden_size": 1', "\x00"):
            refused(text, "config.json is not a JSON object")
        refused("{}", "config.json has no hidden_size")
        refused('{"hidden_size": -5}', "config.json: hidden_size cannot be -5")
        refused('{"hidden_size": 1e30}', "config.json: hidden_size cannot be 1e+30")
        refused('{"hidden_size": 99999999999999999999}', "config.json: hidden_size cannot be 1e+20")
        refused('{"hidden_size": "\\u001b[31m"}', 'config.json: hidden_size cannot be "\\u001b[31m"')
        refused('{"hidden_size": %s}' % ("[" * 100000 + "]" * 100000), "config.json: hidden_size cannot be an array")
        refused('{"hidden_size": 64, "is_encoder_decoder": true}',
                "config.json: unknown family of encoder-decoder models")
        refused(" " * 2**21, "config.json is longer than 1 MiB")


class Knowledge(Case):
    def test_help_names_every_command_and_each_command_its_options(self):
        text = run("--help").stdout
        for command in ("analyze", "ci", "compare", "completions", "estimate", "explain", "list", "man", "schema",
                        "snapshot", "survey"):
            self.assertIn(f"oomdoctor {command} ", text)
            done = run(command, "--help")
            self.assertEqual((done.returncode, done.stdout), (0, run("help", command).stdout))
            self.assertIn("--help", done.stdout)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^oomdoctor \d+\.\d+\.\d+ \(report schema 1\.\d+\)\n$")

    def test_everything_listed_can_be_explained(self):
        for kind in ("causes", "fixes", "myths", "facts", "formats"):
            done = run("list", kind, "--width", "400")
            self.assertEqual(done.returncode, 0)
            ids = [line.split()[0] for line in done.stdout.splitlines() if kind != "formats" or _FORMAT_ROW.match(line)]
            if kind != "myths":
                self.assertTrue(ids, kind)
            for name in ids[:8] + ids[-2:]:
                told = run("explain", name)
                self.assertEqual((told.returncode, told.stderr), (0, ""), name)
                word = {"fixes": "fix"}.get(kind, kind[:-1])
                self.assertIn(f"{word} {name}", told.stdout.splitlines(), name)

    def test_each_listed_gpu_is_the_one_that_estimate_takes(self):
        for line in run("list", "gpus").stdout.splitlines():
            typed, name = line.split()[:2]
            done = run("estimate", "--params", "1B", "--layers", "2", "--hidden", "64", "--card", typed)
            self.assertIn(f"on {name.rstrip(',')} ", done.stdout, typed)

    def test_each_id_that_a_sample_prints_can_be_explained(self):
        printed = set()
        logs = [path for path in sorted((ROOT / "samples").glob("*/*")) if path.suffix in (".log", ".csv")]
        for log in logs[::ONE_SAMPLE_IN]:
            text = run("analyze", log).stdout
            printed |= set(re.findall(r"(?m)^\w+\[(.*?)\]: ", text)) | set(re.findall(r"oomdoctor explain (\S+)", text))
        self.assertTrue({"oom", "leak", "host_memory"} <= printed, printed)
        for name in printed:
            done = run("explain", name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        self.assertEqual(run("explain", "oom").stdout, run("explain", "undetermined").stdout)  # as JSON has it

    def test_an_unclear_cause_is_explained_with_questions_and_causes(self):
        text = run("explain", "oom").stdout
        for expected in ("\nQuestions that settle it\n", "2>&1 | tee", "\n  fragmentation ", "\n  host_memory "):
            self.assertIn(expected, text)
        log = ROOT / "samples" / "circumstances" / "process_group_nccl.log"
        self.assertRegex(run("explain", "oom", log).stdout, r"(?m)^   \d+%  other_process ")

    def test_formats_are_listed_by_family_with_unit_kind_source_and_example(self):
        text = run("list", "formats", "--width", "200").stdout
        self.assertRegex(text, r"(?m)^Megatron.*  megatron, from .*megatron/training")
        self.assertRegex(text, r"(?m)^  megatron/memory +gauge, running maximum +MB printed, 2\^20 meant.*\n      \[Rank 3\] ")
        for family in re.split(r"\n\n", text):
            self.assertRegex(family.splitlines()[0], r"  \w+(, from \S|$)")
        self.assertIn("MB printed, 2^20 meant", run("explain", "megatron/memory").stdout)

    def test_lists_are_written_as_markdown(self):
        page = run("list", "formats", "--format", "markdown").stdout
        self.assertTrue(page.startswith("# Every format that oomdoctor reads\n"))
        self.assertIn("\n| [megatron](#megatron) | ", page)
        self.assertIn("\n## megatron\n", page)
        self.assertTrue(run("list", "causes", "--format", "markdown").stdout.startswith("| id | says |\n|---|---|\n| "))
        self.assert_refused(["list", "formats", "--format", "json"], "invalid --format 'json'",
                "choose one of: terminal, markdown")

    def test_a_cause_is_explained_with_its_signs_and_fixes(self):
        text = run("explain", "fragmentation").stdout
        self.assertIn("\nSigns for it\n", text)
        self.assertIn("\nSigns against it\n", text)
        self.assertIn("\nFixes\n", text)
        self.assertNotIn("{", text)
        self.assertNotIn("http", text)  # without a site of the documentation
        self.assertRegex(run("explain", "--trace", "fragmentation").stdout, r"(?m)^ +if .*oom\.")
        self.assertRegex(run("explain", "--trace", "expandable-segments").stdout, r"(?m)^ +offered if +\(?oom\.|account\.")


class Compare(Case):
    def setUp(self):
        super().setUp()
        for name, batch, base in (("before", 8, 10.0), ("after", 12, 14.0), ("noisy", 8, 10.02)):
            rows = [f"Namespace(batch_size={batch}, precision='bf16')"]
            rows += [f"step {i} loss 2.1 allocated {base + (i % 3) / 100:.2f} GiB" for i in range(1, 31)]
            (self.folder / f"{name}.log").write_text("\n".join(rows) + "\n")

    def compare(self, *words):
        done = self.run_here("compare", *words, "--format", "json")
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_growth_and_the_setting_that_explains_it(self):
        told = self.compare("before.log", "after.log")
        self.assertEqual((told["verdict"]["grew"], told["verdict"]["explanation"]), (True, "setting"))
        self.assertEqual([(s["name"], s["good"]["value"], s["bad"]["value"], s["need"], s["at_most_times"])
                          for s in told["settings"]], [("batch_size", "8", "12", "more", 1.5)])
        self.assertEqual(told["same_settings"], 1)
        screen = self.run_here("compare", "before.log", "after.log").stdout.splitlines()
        self.assertEqual(screen[-3], "GREW  allocated reaches 14.02 GiB instead of 10.02 GiB (+40%); the one printed "
                         "difference that needs")

    def test_limits_decide_the_exit_status(self):
        for limits, status in (((), 0), (("peak+5%",), 1), (("peak+50%",), 0), (("steady+3GiB",), 1),
                               (("steady+5GiB",), 0), (("peak+50%", "steady+1%"), 1), (("slope+0%",), 0)):
            words = [word for limit in limits for word in ("--fail-if", limit)]
            self.assertEqual(self.run_here("compare", "before.log", "after.log", *words).returncode, status, limits)
            self.assertEqual(self.run_here("compare", "after.log", "before.log", *words).returncode, 0, limits)

    def test_what_scatters_is_no_growth(self):
        self.assertEqual(self.run_here("compare", "before.log", "noisy.log", "--fail-if", "peak+0%").returncode, 0)
        self.assertFalse(self.compare("before.log", "noisy.log")["verdict"]["grew"])

    def test_a_failure_of_the_bad_run_alone_is_beyond_every_limit(self):
        (self.folder / "died.log").write_text((self.folder / "before.log").read_text() + FAILED)
        self.assertEqual(self.run_here("compare", "before.log", "died.log").returncode, 0)
        self.assertEqual(self.run_here("compare", "before.log", "died.log", "--fail-if", "peak+90%").returncode, 1)
        self.assertEqual(self.run_here("compare", "died.log", "died.log", "--fail-if", "peak+90%").returncode, 0)

    def test_a_run_may_be_a_folder(self):
        for run_name in ("good", "bad"):
            (self.folder / run_name).mkdir()
            (self.folder / run_name / "rank0.log").write_text((self.folder / "before.log").read_text())
        self.assertEqual([s.get("rank") for s in self.compare("good", "bad")["series"]], [0])

    def test_every_format_shows_the_limits(self):
        words = ["compare", "before.log", "after.log", "--fail-if", "peak+5%", "--format"]
        self.assertIn("  peak+5%  exceeded by allocated\n", self.run_here(*words, "terminal").stdout)
        self.assertIn("- `peak+5%`: exceeded by allocated\n", self.run_here(*words, "markdown").stdout)
        self.assertEqual(json.loads(self.run_here(*words, "json").stdout)["limits"],
                         [{"limit": "peak+5%", "told": True, "beyond": [0]}])

    def test_what_cannot_be_compared(self):
        self.assert_refused(["compare", "before.log"], "compare takes two runs, and 1 is named",
                "name a good one and a bad one: oomdoctor compare good.log bad.log")
        self.assert_refused(["compare", "-", "-"], "standard input can be only one of the two runs")
        self.assert_refused(["compare", "before.log", "nowhere.log"], "file not found: nowhere.log")
        for limit in ("peak", "peak+", "peak+5", "peek+5%", "peak+5%%", "peak-5%", "peak+ten%", "peak+5 parsecs"):
            self.assert_refused(["compare", "before.log", "after.log", "--fail-if", limit],
                    f"invalid --fail-if '{limit}'",
                    "use peak, steady or slope with a limit, for example peak+5% or steady+500MiB")
        done = self.run_here("compare", "fine.log", "after.log", "--fail-if", "peak+5%")
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]),
                         (2, "oomdoctor: cannot check --fail-if peak+5%: the runs have no series in common for it"))

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_comparisons_keep_their_schema_and_it_names_every_field(self):
        schema = json.loads(run("schema", "comparison").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        strict = jsonschema.Draft202012Validator(close(copy.deepcopy(schema)))
        for words in (("before.log", "after.log"), ("before.log", "train.log"), ("fine.log", "train.log"),
                      ("before.log", "noisy.log", "--fail-if", "peak+5%")):
            strict.validate(self.compare(*words))
        approved = sorted(APPROVED.glob("comparison-*.json"))
        self.assertGreater(len(approved), 2)
        for path in approved:
            strict.validate(json.loads(path.read_text()))


class Surveys(Case):
    """Six jobs, of which four ran out of memory, three of them in the same function."""

    def setUp(self):
        super().setUp()
        for name in ("train.log", "fine.log"):
            (self.folder / name).unlink()
        jobs = self.folder / "jobs"
        failure = FAILED.split("step 2 loss 2.30\n")[1]
        for number in range(3):
            (jobs / str(number)).mkdir(parents=True)
            steps = [f"2025-03-0{number + 1} 1{hour}:00:00 step {hour} loss 2.{hour}\n" for hour in (2, 3)]
            (jobs / str(number) / "train.log").write_text("".join(steps) + failure)
        (jobs / "slurm-4711.out").write_text(HEALTHY)
        (jobs / "slurm-4711.err").write_text("slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of "
                                             "the step tasks have been OOM Killed.\n")
        (jobs / "slurm-4712.out").write_text(HEALTHY)
        (jobs / "empty.log").write_text("")
        for path in jobs.rglob("*.*"):
            os.utime(path, (1741003200, 1741003200))  # 2025-03-03 12:00:00 UTC, the date of a log that prints none

    def survey(self, *words):
        done = self.run_here("survey", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def lines(self, *words):
        return [json.loads(line) for line in self.survey("--format", "jsonl", *words).splitlines()]

    def test_each_job_is_a_line(self):
        lines = {line["path"]: line for line in self.lines("jobs")}
        self.assertEqual({path: line["outcome"] for path, line in lines.items()},
                         {"jobs/0/train.log": "oom", "jobs/1/train.log": "oom", "jobs/2/train.log": "oom",
                          "jobs/slurm-4711.err": "oom", "jobs/slurm-4712.out": "no_oom", "jobs/empty.log": "unrecognised"})
        failed = lines["jobs/1/train.log"]
        self.assertEqual((failed["ended_at"], failed["lost_seconds"], failed["lost_since"]),
                         ("2025-03-02T13:00:00", 3600, "start"))
        self.assertEqual((lines["jobs/slurm-4711.err"]["job"], lines["jobs/slurm-4711.err"]["logs"]), ("4711", 2))
        self.assertEqual(len({tuple(line) for line in lines.values()}), 1, "every line has the same fields")

    def test_a_log_without_a_date_has_that_of_its_file(self):
        undated = self.folder / "jobs" / "undated.log"
        undated.write_text(FAILED.split("step 2 loss 2.30\n")[1])
        for path, time in (("undated.log", 1741080730), ("slurm-4711.err", 1740700000), ("slurm-4712.out", 1740700000)):
            os.utime(self.folder / "jobs" / path, (time, time))  # 2025-03-04 09:32:10 UTC, and February 27
        lines = {line["path"]: line for line in self.lines("jobs")}
        self.assertEqual((lines["jobs/undated.log"]["failed_at"], lines["jobs/undated.log"]["file_time"]),
                         (None, "2025-03-04T09:32:10"))
        self.assertIsNone(lines["jobs/1/train.log"]["file_time"])
        totals = json.loads(self.survey("--format", "json", "jobs"))
        self.assertEqual((totals["undated"], totals["file_dated"]), (0, 2))
        self.assertEqual([(week["week"], week["failed"]["jobs"]) for week in totals["weeks"]],
                         [("2025-W09", 3), ("2025-W10", 2)])
        screen = self.survey("jobs")
        self.assertRegex(screen, r"03-04 file +jobs/undated\.log")
        self.assertIn("no date was found near the failure, so this is the date of the file", screen)
        self.survey("--output", "html=survey.html", "jobs")
        page = (self.folder / "survey.html").read_text()
        self.assertRegex(page, r"<td[^>]*>2025-03-04, date of the file</td><td[^>]*>jobs/undated.log</td>")
        self.assertIn("2 failures have the date of their file: no date was found near them", page)
        self.assertNotIn(" no date.</p>", page)
        # A survey of the lines has the same dates, whatever becomes of the files.
        (self.folder / "lines.jsonl").write_text(self.survey("--format", "jsonl", "jobs"))
        os.utime(undated, (1, 1))
        self.assertEqual(json.loads(self.survey("--format", "json", "lines.jsonl"))["weeks"], totals["weeks"])

    def test_the_page_links_the_reports_next_to_the_logs(self):
        self.run_here("analyze", "jobs/1/train.log", "--output", "html=jobs/1/report.html")
        (self.folder / "jobs" / "2" / "report.html").write_text("<html>of another program</html>")
        (self.folder / "pages").mkdir()
        self.survey("jobs", "--output", "html=pages/s.html", "--output", "jsonl=s.jsonl")
        page = (self.folder / "pages" / "s.html").read_text()
        self.assertEqual(re.findall(r'<a href="([^"]*)">([^<]*)</a>', page), [("../jobs/1/report.html", "jobs/1/train.log")])
        self.assertNotIn("report.html", (self.folder / "s.jsonl").read_text())

    def test_the_totals_are_the_sums_of_the_lines(self):
        lines, totals = self.lines("jobs"), json.loads(self.survey("jobs", "--format", "json"))
        failed = [line for line in lines if line["outcome"] in ("oom", "possible_oom")]
        self.assertEqual((totals["all"]["jobs"], totals["failed"]["jobs"]), (len(lines), len(failed)))
        self.assertEqual(totals["failed"]["lost_seconds"], sum(line["lost_seconds"] or 0 for line in failed))
        weeks = [(week["week"], week["starts"], week["jobs"], week["failed"]["jobs"]) for week in totals["weeks"]]
        self.assertEqual(weeks, [("2025-W09", "2025-02-24", 2, 2), ("2025-W10", "2025-03-03", 4, 2)])
        self.assertEqual([(of["sums"]["jobs"], of["place"]) for of in totals["offenders"]], [(3, "train.py in training_step")])

    def test_a_database_reads_the_lines(self):
        lines = self.survey("jobs", "--format", "jsonl").splitlines()
        database = sqlite3.connect(":memory:")
        database.execute("create table lines (line text)")
        self.addCleanup(database.close)
        database.executemany("insert into lines values (?)", ((line,) for line in lines))
        database.execute("create view jobs as select " + ", ".join(
            f"json_extract(line, '$.{name}') as {name}" for name in json.loads(lines[0])) + " from lines")
        rows = database.execute("select count(*), sum(lost_seconds), max(datetime(failed_at)) from jobs "
                                "where outcome = 'oom' and place is not null group by fingerprint").fetchall()
        self.assertEqual(rows, [(3, 10800.0, "2025-03-03 13:00:00")])
        undated = database.execute("select count(*) from jobs where ended_at is null").fetchone()
        self.assertEqual(undated, (3,))

    def test_the_lines_do_not_depend_on_the_number_of_threads(self):
        one = self.survey("jobs", "--format", "jsonl", "--jobs", "1")
        for threads in ("2", "3", "7"):
            self.assertEqual(self.survey("jobs", "--format", "jsonl", "--jobs", threads), one)

    def test_parts_give_the_same_survey(self):
        for task, logs in enumerate((["jobs/0", "jobs/slurm-4711.out"], ["jobs/1", "jobs/2"],
                                     ["jobs/slurm-4711.err", "jobs/slurm-4712.out", "jobs/empty.log"])):
            (self.folder / f"{task}.jsonl").write_text(self.run_here("analyze", "--format", "partial", *logs).stdout)
        for format_ in ("terminal", "json", "jsonl", "html"):
            direct = self.survey("jobs", "--format", format_)
            self.assertEqual(self.survey("?.jsonl", "--format", format_), direct)
            self.assertEqual(
                self.survey("2.jsonl", "jobs/1", "0.jsonl", "1.jsonl", "--format", format_, "--jobs", "7"), direct)

    def test_a_bad_part_is_left_out_and_said(self):
        good = self.run_here("analyze", "--format", "partial", "jobs/0").stdout
        (self.folder / "a.jsonl").write_text("nonsense\n" + good)
        done = self.run_here("survey", "a.jsonl", "jobs/1", "--format", "json")
        totals = json.loads(done.stdout)
        self.assertEqual((done.returncode, totals["failed"]["jobs"]), (0, 2))
        self.assertEqual([note["text"][:20] for note in totals["notes"]], ["left out: a.jsonl:1:"])

    def test_outputs_and_redaction(self):
        (self.folder / "home" / "alice").mkdir(parents=True)
        shutil.move(self.folder / "jobs", self.folder / "home" / "alice" / "jobs")
        home = str(self.folder / "home" / "alice")
        done = self.run_here("survey", home, "--quiet", "--output", "html=s.html", "--output", "jsonl=s.jsonl")
        self.assertEqual(done.returncode, 0)
        self.assertIn("4 of 6 jobs ran out of memory (67%)", done.stdout)
        self.assertIn("alice", (self.folder / "s.jsonl").read_text())
        page = (self.folder / "s.html").read_text()
        self.assertEqual(page.count("<script"), 1)  # its own, by its hash
        self.assertRegex(page, "default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-")
        for format_ in ("terminal", "json", "jsonl", "html"):
            hidden = self.run_here("survey", home, "--format", format_, "--redact", "all")
            self.assertNotIn("alice", hidden.stdout)
            self.assertIn("oomdoctor: redacted ", hidden.stderr)

    def test_what_cannot_be_surveyed(self):
        self.assert_refused(["survey"], "no input given",
                            "pass a folder of logs or the parts of many jobs: oomdoctor survey logs/")
        self.assert_refused(["survey", "-"], "survey reads files, not standard input", "pass a folder of logs or parts")
        self.assert_refused(["survey", "nowhere"], "file not found: nowhere")
        self.assert_refused(["survey", "jobs", "--format", "sarif"], "invalid --format 'sarif'",
                            "choose one of: terminal, json, jsonl, html")
        self.assert_refused(["survey", "jobs", "--output", "sarif=x"], "unknown format 'sarif' in --output",
                            "choose one of: terminal, json, jsonl, html")

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_surveys_keep_their_schemas_and_these_name_every_field(self):
        samples = str(pathlib.Path(__file__).resolve().parents[2] / "samples")
        for schema_name, format_, approved in (("survey", "jsonl", "survey.jsonl"), ("survey-totals", "json", "survey.json")):
            schema = json.loads(run("schema", schema_name).stdout)
            jsonschema.Draft202012Validator.check_schema(schema)
            strict = jsonschema.Draft202012Validator(close(copy.deepcopy(schema)))
            text = self.survey(samples, "--format", format_)
            objects = [json.loads(line) for line in text.splitlines()] if format_ == "jsonl" else [json.loads(text)]
            known = (APPROVED / approved).read_text()
            objects += [json.loads(line) for line in known.splitlines()] if format_ == "jsonl" else [json.loads(known)]
            for one in objects:
                strict.validate(one)
            for name in schema["required"]:
                self.assertFalse(strict.is_valid({k: v for k, v in objects[0].items() if k != name}), name)


class Schema(Case):
    def test_it_is_printed_as_json(self):
        self.assertEqual(json.loads(run("schema", "report").stdout)["$schema"],
                "https://json-schema.org/draft/2020-12/schema")

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_reports_keep_it_and_it_names_every_field(self):
        schema = json.loads(run("schema", "report").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        strict = close(copy.deepcopy(schema))
        reports = [json.loads(path.read_text()) for path in sorted(APPROVED.glob("*.json"))
                   if not path.name.startswith(("comparison-", "survey")) and not path.name.endswith(".gitlab.json")]
        reports += [json.loads(self.run_here("analyze", "--format", "json", "--trace",
                name).stdout) for name in ("train.log", "fine.log")]
        self.assertGreater(len(reports), 5)
        for report in reports:
            jsonschema.Draft202012Validator(strict).validate(report)

    def test_those_for_the_schema_store_are_these(self):
        schemas = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "schemas"
        entries = json.loads((schemas / "catalog.json").read_text())
        self.assertEqual(sorted(entry["url"].rpartition("/")[2] for entry in entries), ["own-formats.json", "report.json"])
        for entry in entries:
            self.assertEqual(sorted(entry), ["description", "fileMatch", "name", "url"])
            path = schemas / entry["url"].rpartition("/packaging/schemas/")[2]
            self.assertEqual(path.read_text(), run("schema", path.stem).stdout, path.name)

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_the_one_of_own_formats_takes_and_refuses_what_the_reader_does(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        schema = json.loads(run("schema", "own-formats").stdout)
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        own = (root / "docs" / "own_formats" / "oomdoctor.toml").read_text()
        first = own[:own.index("\n\n[[format]]")]
        right = [own, first + '\nprinted = "MB"\nlabel = "main"\nsource = "train.py"\nexpect = { step = "40", allocated = "5120.5" }',
                 first.replace('"MiB"', '"1000 KiB"'), first + '\nkind = "sampled_gauge"']
        wrong = [first + '\nkinds = "gauge"', first + '\nkind = "peak"', first.replace('"MiB"', '"MByte"'), "title = 'mine'\n",
                 first.replace("trainer/step", "step"), first.replace("gpu_resident=\"", "gpu\""), first + "\nregex = 'x'",
                 *(re.sub(rf"(?m)^{key} .*", "", first) for key in ("name", "anchor", "form", "unit", "example"))]
        for texts, holds in ((right, True), (wrong, False)):
            for text in texts:
                with self.subTest(text):
                    (self.folder / "own.toml").write_text(text)
                    done = self.run_here("list", "formats", "--format-file", "own.toml")
                    self.assertEqual((done.returncode == 0, validator.is_valid(tomllib.loads(text))), (holds, holds), done.stderr)
        for key in schema["properties"]["format"]["items"]["properties"]:  # a misspelt one is answered with the nearest
            (self.folder / "own.toml").write_text(f"{first}\n{key}s = 'x'")
            self.assertIn(f"did you mean {key}?", self.run_here("list", "formats", "--format-file", "own.toml").stderr)

    @unittest.skipUnless(jsonschema, "the jsonschema module is not installed")
    def test_it_refuses_what_is_no_report(self):
        validator = jsonschema.Draft202012Validator(json.loads(run("schema", "report").stdout))
        good = json.loads(self.run_here("analyze", "--format", "json", "train.log").stdout)
        for breakage in (lambda r: r.pop("verdict"), lambda r: r["verdict"].update(outcome="fine"),
                         lambda r: r["incidents"][0].update(requested_bytes=1.5),
                          lambda r: r.update(schema_version="2.0")):
            broken = copy.deepcopy(good)
            breakage(broken)
            self.assertFalse(validator.is_valid(broken))


def close(schema):
    """The schema with no unnamed field allowed, so that a field which it forgets fails the test."""
    if isinstance(schema, dict):
        for part in schema.values():
            close(part)
        if schema.get("type") == "object" and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        for part in schema:
            close(part)
    return schema


if __name__ == "__main__":
    unittest.main()
