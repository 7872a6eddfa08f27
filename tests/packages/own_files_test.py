"""The scripts of packaging/ and scripts/ make new files under names that nobody knows in advance, follow no link that
another user could have made, and remove only what they made. OOMDOCTOR_BINARY names the program.

curl, cmake and the package manager are stand-ins, so nothing is downloaded or built.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
SLURM = ROOT / "packaging" / "slurm"
LOG = ROOT / "samples" / "stories" / "fragmentation.log"
CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
NAME = f"oomdoctor-1.2.3-linux-{CPU}.tar.gz"


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.precious = self.folder / "precious"
        self.precious.write_text("of the user\n")

    def tool(self, name, script):
        path = self.tools / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def run_script(self, *words, **environment):
        given = {"PATH": f"{self.tools}:/usr/bin:/bin", "OOMDOCTOR": BINARY,
                 **{name: str(value) for name, value in environment.items()}}
        return subprocess.run([str(word) for word in words], cwd=self.folder, env=given, capture_output=True, text=True,
                              timeout=60, check=False, stdin=subprocess.DEVNULL)


@unittest.skipUnless(CPU, "there is no release for this machine")
class Action(Case):
    """The step of the GitHub action that installs oomdoctor, in a copy of the tree: it builds beside itself."""
    def setUp(self):
        super().setUp()
        self.action = self.folder / "tree" / "packaging" / "ci" / "github"
        self.action.mkdir(parents=True)
        shutil.copy(ROOT / "packaging" / "ci" / "github" / "install", self.action)
        (self.folder / "tree" / "scripts").mkdir()
        dependencies = self.folder / "tree" / "scripts" / "install-dependencies"
        dependencies.write_text("#!/bin/sh\n")
        dependencies.chmod(0o755)
        self.tool("cmake", "exit 0")
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir(mode=0o777)
        self.archive = self.folder / NAME
        with tarfile.open(self.archive, "w:gz") as archive:
            archive.add(BINARY, f"{NAME.removesuffix('.tar.gz')}/bin/oomdoctor")

    def install(self, checksum, **environment):
        """The line that the step adds to the path, its output, and the arguments of each download."""
        self.tool("curl", f'echo "$@" >>{self.folder}/asked; while [[ $1 != --output ]]; do shift; done; '
                          f'stat -c %a "$(dirname "$2")" >>{self.folder}/modes; cp {self.archive} "$2"')
        (self.folder / "pinned").write_text(f"{checksum}  {NAME}\n")
        added = self.folder / "path"
        added.write_text("")
        done = self.run_script("bash", self.action / "install", GITHUB_PATH=added,
                               OOMDOCTOR_PINNED=self.folder / "pinned", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return added.read_text().strip(), done.stdout

    def test_each_download_has_a_new_folder_of_its_user(self):
        checksum = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        for variable in ("RUNNER_TEMP", "TMPDIR"):
            added = {self.install(checksum, **{variable: self.temporary})[0] for _ in range(2)}
            self.assertEqual(len(added), 2)
            for path in map(pathlib.Path, added):
                self.assertEqual((path.parent.parent, path.parent.stat().st_mode & 0o777), (self.temporary, 0o700))
                self.assertEqual(os.listdir(path.parent), ["bin"])
                self.assertTrue(os.access(path / "oomdoctor", os.X_OK))
        self.assertEqual(set((self.folder / "modes").read_text().split()), {"700"})
        self.assertNotIn(checksum, (self.folder / "asked").read_text())

    def test_another_file_is_never_unpacked_and_does_not_stay(self):
        added, output = self.install("0" * 64, RUNNER_TEMP=self.temporary)
        self.assertIn("::warning::", output)
        self.assertEqual(added, f"{self.folder}/tree/build/release")
        self.assertEqual(os.listdir(self.temporary), [])


class Slurm(Case):
    def epilog(self, output, **environment):
        return self.run_script(
            SLURM / "epilog", SLURM_JOB_ID=7, SLURM_JOB_UID=os.getuid(), SLURM_JOB_USER="someone", SLURMD_NODENAME="n1",
            SLURM_JOB_EXIT_CODE2="1:0", SLURM_JOB_WORK_DIR=self.folder, SLURM_NODELIST="n1", SLURM_JOB_STDOUT=output)

    def test_the_epilog_writes_through_no_link(self):
        for output in ("%j.out", "%x.out"):  # the second is found by a pattern
            log = self.folder / "7.out"
            shutil.copyfile(LOG, log)
            report = self.folder / "7.out.oomdoctor.txt"
            report.symlink_to(self.precious)
            done = self.epilog(self.folder / output)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(self.precious.read_text(), "of the user\n")
            report.unlink()
            self.epilog(self.folder / output)
            self.assertIn("OUT OF MEMORY", report.read_text())
            report.unlink()

    def test_a_part_is_a_new_file_and_replaces_a_link(self):
        shutil.copyfile(LOG, self.folder / "a.log")
        self.assertEqual(self.run_script(SLURM / "prepare", ".", "out").stdout, "1\n")
        part = self.folder / "out" / "parts" / "0.jsonl"
        part.symlink_to(self.precious)
        self.assertEqual(self.run_script(SLURM / "map", "out", "0").returncode, 0)
        self.assertEqual((self.precious.read_text(), part.is_symlink()), ("of the user\n", False))
        self.assertEqual(os.listdir(part.parent), ["0.jsonl"])

    def test_tasks_are_not_written_into_an_existing_folder_nor_through_a_link(self):
        shutil.copyfile(LOG, self.folder / "a.log")
        (self.folder / "out").mkdir()
        (self.folder / "elsewhere").mkdir()
        for target in ("elsewhere", "missing"):
            link = self.folder / "out" / "tasks"
            link.symlink_to(self.folder / target)
            done = self.run_script(SLURM / "prepare", ".", "out")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("name another folder", done.stderr)
            link.unlink()
        self.assertEqual(os.listdir(self.folder / "elsewhere"), [])


class Packages(Case):
    def test_a_folder_without_packages_is_not_emptied(self):
        own = self.folder / "own"
        own.mkdir()
        (own / "thesis.tex").write_text("")
        done = self.run_script(ROOT / "scripts" / "package", "--no-build", OOMDOCTOR_DIST=own, SOURCE_DATE_EPOCH=1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not emptied", done.stderr)
        self.assertEqual(os.listdir(own), ["thesis.tex"])


if __name__ == "__main__":
    unittest.main()
