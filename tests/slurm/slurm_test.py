"""The scripts of packaging/slurm/, and the jobs of packaging/ci/README.md: under a real Slurm of one node that this test
brings up on the loopback interface, and under xargs. What they report is what one run over all logs reports. OOMDOCTOR_BINARY names the program.

munged, slurmctld and slurmd run in the foreground as children of this test, with their own key, ports and folders, and
end with it. Skipped (status 77) where they are not installed or this is not root, which slurmd has to be.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
SCRIPTS = PACKAGING / "slurm"
TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scontrol", "squeue")
SKIPPED = 77
PATIENCE = 60  # seconds, for anything; all together it takes about ten

CONFIGURATION = """\
ClusterName=oomdoctortest
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=10000
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Epilog={folder}/epilog
{node} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=00:05:00 State=UP
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rank_log(rank, steps=60):
    lines = []
    for step in range(steps):
        grown = 0.1 * step if rank == 13 else 0
        lines.append(f"2026-03-01 12:{step // 60:02}:{step % 60:02} step {step} | loss 2.1 | "
                     f"allocated {20 + rank % 3 * 0.01 + grown:.3f} GiB")
    if rank in (13, 21):
        lines.append(f"2026-03-01 12:0{1 if rank == 13 else 2}:30 torch.OutOfMemoryError: CUDA out of memory. Tried to "
                     "allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.12 GiB is free. Including "
                     "non-PyTorch memory, this process has 38.26 GiB memory in use. Of the allocated memory 36.50 GiB "
                     "is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated.")
    return "\n".join(lines) + "\n"


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.1)


class Cluster:
    """One node and its controller, from start to stop."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="oomdoctor-slurm-"))
        self.children = []
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        described = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
        shape = " ".join(word for word in described.split()
                         if word.split("=")[0] in ("CPUs", "Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"))
        node = f"NodeName=node NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 RealMemory=16 {shape}"
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, node=node, controller_port=free_port(), node_port=free_port()))
        # Slurm gives an epilog no environment but its own.
        epilog = self.folder / "epilog"
        epilog.write_text(f"#!/bin/sh\nOOMDOCTOR='{BINARY}' exec '{SCRIPTS}/epilog'\n")
        epilog.chmod(0o755)
        # Nothing is limited by control groups; slurmd would look for them all the same, and a bare container has none.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.environment = {**os.environ, "SLURM_CONF": str(configuration), "OOMDOCTOR": BINARY}

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {name: f"{self.folder}/munge.{name}" for name in ("socket", "log", "pid", "seed")}
        self.run("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={files['socket']}",
                 f"--log-file={files['log']}", f"--pid-file={files['pid']}", f"--seed-file={files['seed']}")
        wait_for("munged", lambda: os.path.exists(files["socket"]))
        self.run("slurmctld", "-D", "-i")
        self.run("slurmd", "-D", "-N", "node")
        wait_for("an idle node", lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T").split())

    def run(self, *command):
        log = open(self.folder / f"{command[0]}.out", "wb")
        self.children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              env=self.environment))
        log.close()

    def ask(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=PATIENCE)
        return done.stdout

    def stop(self):
        self.ask("scancel", "--user=root")
        for child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        logs = self.folder / "the logs"
        (logs / "node0").mkdir(parents=True)
        for rank in range(40):
            place = logs / "node0" if rank % 2 else logs
            (place / f"rank_{rank}.{('log', 'out', 'err', 'txt')[rank % 4]}").write_text(rank_log(rank))
        (logs / "model.safetensors").write_text("no log")
        (logs / "oomdoctor-out").mkdir()
        (logs / "oomdoctor-out" / "report.txt").write_text("an earlier report")
        self.expected = subprocess.run([BINARY, "analyze", "--format", "json", "the logs"], cwd=self.folder,
                                       capture_output=True, check=False).stdout
        self.assertIn(b'"rank": 13', self.expected)

    def script(self, name, *words, per_task=7, **environment):
        return subprocess.run([SCRIPTS / name, *words], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE,
                              env={**self.cluster.environment, "OOMDOCTOR_PER_TASK": str(per_task), **environment})

    def submit(self, **environment):
        done = self.script("submit", "the logs", "out", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        jobs = re.fullmatch(r"jobs (\d+) \(array of (\d+)\) and (\d+); the report will be (.*)/report.txt, .*\n", done.stdout)
        self.assertTrue(jobs, done.stdout)
        self.assertEqual(jobs[2], "6")
        wait_for("the merge", lambda: not self.cluster.ask("squeue", "--noheader", f"--jobs={jobs[1]},{jobs[3]}").strip())
        return self.folder / "out"

    def test_an_array_reports_what_one_run_reports(self):
        out = self.submit()
        self.assertTrue((out / "report.json").exists(), [p.read_text() for p in (out / "slurm").iterdir()])
        self.assertEqual((out / "report.json").read_bytes(), self.expected)
        self.assertIn("OUT OF MEMORY", (out / "report.txt").read_text())
        self.assertEqual(len(list((out / "parts").iterdir())), 6)
        surveys = [subprocess.run([BINARY, "survey", "--format", "jsonl", words], cwd=self.folder, capture_output=True,
                                  check=True).stdout for words in ("the logs", "out/parts")]
        self.assertIn(b'"outcome":"oom"', surveys[0])
        self.assertEqual(surveys[1], surveys[0])

    def test_a_task_that_fails_does_not_hide_the_others(self):
        broken = self.folder / "fails-once"
        broken.write_text(f'#!/bin/sh\n[ "$SLURM_ARRAY_TASK_ID" != 5 ] || exit 3\nexec "{BINARY}" "$@"\n')
        broken.chmod(0o755)
        out = self.submit(OOMDOCTOR=str(broken))
        self.assertIn("1 of 6 tasks left no part, so their logs are not in the report: 5",
                      (out / "slurm" / "merge.out").read_text())
        self.assertIn('"rank": 13', (out / "report.json").read_text())
        # The task runs again, by hand, and the report is whole.
        self.assertEqual(self.script("map", "out", "5").returncode, 0)
        self.assertEqual(self.script("merge", "out").returncode, 0)
        self.assertEqual((out / "report.json").read_bytes(), self.expected)

    def test_the_same_without_a_cluster(self):
        tasks = self.script("prepare", "the logs", "out")
        self.assertEqual(tasks.stdout, "6\n", tasks.stderr)
        command = 'seq 0 5 | xargs -P 2 -n 1 "$0/map" out && "$0/merge" out'
        done = subprocess.run(["bash", "-c", command, SCRIPTS], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE, env=self.cluster.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "out" / "report.json").read_bytes(), self.expected)

    def batch(self, script):
        """A job whose commands these are, as the README submits one."""
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "oomdoctor").symlink_to(BINARY)
        (self.folder / "train.log").write_text(rank_log(13))
        (self.folder / "train.sbatch").write_text(f"#!/bin/sh\n{script}\n")
        text = (PACKAGING / "ci" / "README.md").read_text().split("\n## Slurm\n")[1]
        command = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
        environment = {**self.cluster.environment, "PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-ec", command + "\necho $job"], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_for("the jobs", lambda: not self.cluster.ask("squeue", "--noheader").strip())
        return done.stdout.split()[-1], sorted(path.name for path in self.folder.iterdir() if path.suffix in (".out", ".txt"))

    def test_a_job_that_failed_is_diagnosed_by_its_epilog_and_by_a_job_behind_it(self):
        job, written = self.batch("cat train.log; exit 1")
        self.assertEqual(written, [f"oomdoctor-{int(job) + 1}.txt", f"train-{job}.out", f"train-{job}.out.oomdoctor.txt"])
        texts = [(self.folder / name).read_text() for name in written if name.endswith(".txt")]
        for text in texts:
            self.assertIn("OUT OF MEMORY", text)
        self.assertNotIn("drain", self.cluster.ask("sinfo", "--noheader", "--format=%T"))

    def test_only_the_task_of_an_array_that_failed_has_a_report(self):
        (self.folder / "train.log").write_text(rank_log(13))
        (self.folder / "train.sbatch").write_text("#!/bin/sh\n[ $SLURM_ARRAY_TASK_ID = 2 ] || { echo step 1; exit 1; }\n"
                                                  "cat train.log; exit 1\n")
        for output in ("odd [1] %%_%x-%3a_%A.out", None):
            words = ["--job-name=a job"] + ([f"--output={output}"] if output else [])
            job = subprocess.run(["sbatch", "--parsable", "--array=1-3", *words, "train.sbatch"], cwd=self.folder,
                                 capture_output=True, text=True, timeout=PATIENCE, env=self.cluster.environment)
            self.assertEqual(job.returncode, 0, job.stderr)
            wait_for("the array", lambda: not self.cluster.ask("squeue", "--noheader").strip())
            number = job.stdout.strip()
            name = f"odd [1] %_a job-002_{number}.out" if output else f"slurm-{number}_2.out"
            self.assertEqual(sorted(path.name for path in self.folder.glob("*.oomdoctor.txt")), [f"{name}.oomdoctor.txt"])
            self.assertIn("OUT OF MEMORY", (self.folder / f"{name}.oomdoctor.txt").read_text())
            (self.folder / f"{name}.oomdoctor.txt").unlink()
            for path in self.folder.glob("*.out"):
                path.unlink()

    def epilog(self, **environment):
        """The epilog alone, with the variables of a failed job 7 of a node."""
        (self.folder / "7.out").write_text(rank_log(13))
        given = {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_USER": "root", "OOMDOCTOR": BINARY,
                 "SLURM_JOB_EXIT_CODE2": "1:0", "SLURM_JOB_WORK_DIR": str(self.folder), "SLURMD_NODENAME": "gpu07",
                 "SLURM_NODELIST": "gpu07", "SLURM_JOB_STDOUT": f"{self.folder}/%j.out", **environment}
        done = subprocess.run([SCRIPTS / "epilog"], env=given, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        report = self.folder / "7.out.oomdoctor.txt"
        found = report.exists()
        report.unlink(missing_ok=True)
        return found

    def test_the_epilog_reports_once_on_the_node_of_the_batch_script(self):
        for nodes, first in (("gpu07", True), ("gpu[07-09]", True), ("gpu[07,09],other", True), ("gpu07,gpu08", True),
                             ("gpu[06-09]", False), ("gpu06,gpu07", False), ("", False)):
            self.assertEqual(self.epilog(SLURM_NODELIST=nodes), first, nodes)
        self.assertTrue(self.epilog(SLURM_JOB_NODELIST="gpu[07-09]", SLURM_NODELIST=""))
        self.assertFalse(self.epilog(SLURM_JOB_EXIT_CODE2="0:0"))

    def test_the_epilog_asks_the_controller_nothing(self):
        code = re.sub(r"(?m)^\s*#.*", "", (SCRIPTS / "epilog").read_text())
        self.assertNotRegex(code, r"\b(scontrol|squeue|sacct|sinfo|scancel|sbatch|srun)\b")

    def test_a_job_that_ended_well_is_left_alone(self):
        job, written = self.batch("echo done")
        self.assertEqual(written, [f"train-{job}.out"])

    def test_what_cannot_be_prepared_is_said(self):
        self.assertEqual(self.script("prepare", "the logs", "out").returncode, 0)
        again = self.script("prepare", "the logs", "out")
        self.assertEqual((again.returncode, again.stdout), (2, ""))
        self.assertIn("has the tasks of an earlier run", again.stderr)
        (self.folder / "empty").mkdir()
        empty = self.script("prepare", "empty", "other")
        self.assertEqual(empty.returncode, 2)
        self.assertIn("there is no log in the folder empty", empty.stderr)


if __name__ == "__main__":
    absent = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
    if os.geteuid() != 0 or absent:
        print("skipped: " + (f"not installed: {' '.join(absent)}" if absent else "slurmd has to run as root"))
        sys.exit(SKIPPED)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    unittest.main()
