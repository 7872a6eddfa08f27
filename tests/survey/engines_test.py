"""The commands of docs/scale.md that read logs in parallel without Slurm, as that page shows them: under xargs, GNU
parallel, Dask, and as the pods of an indexed job. What they report is what one run over all logs reports.
OOMDOCTOR_BINARY names the program. What is not installed is skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", ROOT / "build" / "release" / "oomdoctor"))
PYTHON = "/usr/bin/python3"  # which Debian's packages are for
TASKS = 3


def blocks(heading):
    """[(language, text)] of the page."""
    section = (ROOT / "docs" / "scale.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)


def has_dask():
    return subprocess.run([PYTHON, "-c", "import distributed"], capture_output=True).returncode == 0


class Engines(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "packaging").symlink_to(ROOT / "packaging")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "oomdoctor").symlink_to(BINARY)
        (self.folder / "logs").mkdir()
        for rank in range(2 * TASKS):
            shutil.copy(ROOT / "samples" / "stories" / "leak.log", self.folder / "logs" / f"rank_{rank}.log")
        self.expected = self.do([BINARY, "analyze", "--fail-on", "never", "--format", "json", "logs"]).stdout

    def do(self, command, **more):
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder),
                       "OOMDOCTOR_PER_TASK": "2", **more}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def assert_whole(self):
        self.assertEqual(len(list((self.folder / "out" / "tasks").iterdir())), TASKS)
        self.assertEqual((self.folder / "out" / "report.json").read_text(), self.expected)

    def test_xargs(self):
        self.do(["bash", "-ec", blocks("Without Slurm")[0][1]])
        self.assert_whole()

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
    def test_gnu_parallel(self):
        (self.folder / ".parallel").mkdir()
        (self.folder / ".parallel" / "will-cite").touch()
        self.do(["bash", "-ec", blocks("Without Slurm")[1][1]])
        self.assert_whole()

    @unittest.skipUnless(has_dask(), "Dask's distributed is not installed")
    def test_dask(self):
        language, text = blocks("Without Slurm")[2]
        self.assertEqual(language, "python")
        (self.folder / "survey.py").write_text(text)
        self.do([PYTHON, "survey.py"])
        self.assert_whole()

    def test_the_pods_of_an_indexed_job(self):
        job = yaml.safe_load((ROOT / "packaging" / "ci" / "kubernetes" / "map.yml").read_text())
        self.assertEqual(job["spec"]["completionMode"], "Indexed")
        container, = job["spec"]["template"]["spec"]["containers"]
        mounted = {volume["mountPath"] for volume in container["volumeMounts"]}
        self.assertEqual(mounted, {"/logs", "/out"})
        self.do(["packaging/slurm/prepare", "logs", "out"])
        words = [word.replace("/out", "out") for word in container["command"]]
        for index in range(TASKS):
            self.do(words, JOB_COMPLETION_INDEX=str(index))
        self.do(["packaging/slurm/merge", "out"])
        self.assert_whole()


if __name__ == "__main__":
    unittest.main()
