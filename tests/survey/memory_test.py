"""The memory of `oomdoctor survey`, which keeps a line of each job and not its series. OOMDOCTOR_BINARY names the program.

A sanitizer keeps freed memory, so the test is about a build without one.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))

FAILED = """\
step 1 loss 2.31
step 2 loss 2.30
Traceback (most recent call last):
  File "train.py", line 88, in training_step
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of \
23.69 GiB of which 1.06 GiB is free. Process {job} has 22.62 GiB memory in use. Of the allocated memory 21.42 GiB is \
allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated.
"""


def peak_of_a_survey(folder, jobs):
    """Kilobytes of resident memory at most, over `jobs` logs made in `folder`."""
    for job in range(jobs):
        (folder / str(job)).mkdir(parents=True)
        (folder / str(job) / "train.log").write_text(FAILED.format(job=job))
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
