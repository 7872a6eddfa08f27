"""The memory of `oomdoctor survey`, which keeps a line of each job and not its series. OOMDOCTOR_BINARY names the program.

A sanitizer keeps freed memory, so the test is about a build without one.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))

FAILED = (pathlib.Path(__file__).resolve().parents[2] / "samples" / "stories" / "print_only.log").read_text()


def peak_of_a_survey(folder, jobs):
    """Kilobytes of resident memory at most, over `jobs` logs made in `folder`."""
    for job in range(jobs):
        (folder / str(job)).mkdir(parents=True)
        (folder / str(job) / "train.log").write_text(f"{FAILED}job {job}\n")
    child = subprocess.Popen([BINARY, "survey", folder, "--jobs", "2", "--format", "jsonl"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, child.returncode
    return usage.ru_maxrss


class Memory(unittest.TestCase):
    def test_a_job_costs_a_few_kilobytes(self):
        with tempfile.TemporaryDirectory() as folder:
            few = peak_of_a_survey(pathlib.Path(folder) / "few", 200)
            many = peak_of_a_survey(pathlib.Path(folder) / "many", 1400)
        self.assertLess(many - few, 1200 * 8)  # 20,000 jobs in 160 MB


if __name__ == "__main__":
    unittest.main()
