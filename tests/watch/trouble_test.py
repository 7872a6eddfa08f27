"""oomdoctor watch in trouble: the warning comes all the same, whatever fails beside it, and before the program ends.
OOMDOCTOR_BINARY names the program.
"""
import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from watching import PATIENCE, SAMPLES, WatchCase, leak  # noqa: E402

FAILURE = (SAMPLES / "stories" / "fragmentation.log").read_text()
HOOK = ("--on-risk", "echo $OOMDOCTOR_RISK >> hook")
ANSWER = 10  # seconds for the answer to a signal on a loaded machine; reading and judging all would take longer


class TroubleCase(WatchCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "train.log"
        self.hook = self.folder / "hook"
        self.log.write_text("step 1 loss 1.0\n")

    def start(self, *words, **more):
        running = super().start(*words, **more)
        self.addCleanup(self.stop, running)
        return running

    def stop(self, running):
        if running.poll() is None:
            running.kill()
        running.communicate()

    def append(self, text):
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(text)

    def wait_for_failure(self):
        self.wait_for(lambda: self.hook.exists() and self.hook.read_text() == "failed\n")

    def last_report(self, out):
        return json.loads(out[out.index("{\n"):])


class LastWords(TroubleCase):
    """What a job prints right before its end."""

    def test_a_job_that_prints_its_failure_and_ends(self):
        (self.folder / "failure").write_text(FAILURE)
        for delay in ("0", "0.2", "0.7"):
            self.hook.unlink(missing_ok=True)
            self.log.write_text("step 1 loss 1.0\n")
            with subprocess.Popen(["sh", "-c", f"sleep {delay}; cat failure >> train.log; exit 1"],
                                  cwd=self.folder) as job:
                running = self.start("train.log", *HOOK, "--pid", str(job.pid), "--every", "10min", "--format", "json")
                job.wait()
            out, err = running.communicate(timeout=PATIENCE)
            self.wait_for_failure()
            self.assertEqual(err.count("warning:"), 1, err)
            self.assertEqual(self.last_report(out)["verdict"]["outcome"], "oom")

    def test_lines_that_another_process_writes_after_the_end_of_the_job(self):
        with subprocess.Popen(["sleep", "0.2"]) as job:
            running = self.start("train.log", *HOOK, "--pid", str(job.pid), "--every", "10min")
            job.wait()
        time.sleep(0.2)  # as tee does
        self.append(FAILURE)
        running.communicate(timeout=PATIENCE)
        self.wait_for_failure()

    def test_lines_right_before_a_signal(self):
        running = self.start("train.log", *HOOK, "--every", "10min", "--json-lines")
        next(self.judgements(running))  # the next one is due in ten minutes
        self.append(FAILURE)
        status, out, err = self.end(running)
        self.assertEqual(status, 1)
        self.assertEqual(json.loads(out.splitlines()[0])["outcome"], "oom")
        self.assertIn("warning:", err)
        self.wait_for_failure()

    def test_a_job_that_nobody_has_waited_for(self):
        with subprocess.Popen(["true"]) as job:
            running = self.start("train.log", "--quiet", "--pid", str(job.pid))
            running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 0)

    def test_a_job_whose_first_thread_has_ended_goes_on(self):
        code = ("import ctypes, threading, time\n"
                "threading.Thread(target=time.sleep, args=(60,)).start()\n"
                "ctypes.CDLL(None).pthread_exit(None)\n")
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as job:
            self.addCleanup(job.kill)
            state = lambda: pathlib.Path(f"/proc/{job.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            self.wait_for(lambda: state() == "Z")
            if len(os.listdir(f"/proc/{job.pid}/task")) < 2:
                self.skipTest("the interpreter ended with its first thread")
            running = self.start("train.log", *HOOK, "--pid", str(job.pid))
            time.sleep(2)
            self.assertIsNone(running.poll())
            job.kill()
            running.communicate(timeout=PATIENCE)


class Outputs(TroubleCase):
    """An output that fails costs only itself."""

    def test_gauges_that_cannot_be_written_yet(self):
        gauges = self.folder / "later" / "gauges.prom"
        running = self.start("train.log", *HOOK, "--prometheus", "later/gauges.prom", "--every", "0.01s")
        self.append(FAILURE)
        self.wait_for_failure()
        time.sleep(2)  # the hook comes before the gauges
        gauges.parent.mkdir()
        self.wait_for(gauges.exists)  # although the log stays as it is
        _, _, err = self.end(running)
        self.assertIn('outcome="oom"} 1', gauges.read_text())
        self.assertEqual(err.count("cannot write later/gauges.prom"), 1, err)
        self.assertEqual(self.hook.read_text(), "failed\n")

    def test_a_full_disk_under_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            running = self.start("train.log", *HOOK, stdout=full)
            self.append(FAILURE)
            self.wait_for_failure()
            self.assertIsNone(running.poll())
            _, _, err = self.end(running)
        # The warning comes first, so a slow machine may end the watching before the first status line.
        self.assertIn("cannot write to standard output: No space left on device", err)
        self.assertLessEqual(err.count("oomdoctor goes on watching"), 1, err)

    def test_a_reader_of_standard_output_that_is_gone(self):
        ours, theirs = os.pipe()
        os.close(ours)
        running = self.start("train.log", *HOOK, "--json-lines", "--every", "0.01s", "--output", "json=report.json",
                             stdout=theirs)
        os.close(theirs)
        self.append(FAILURE)
        self.wait_for_failure()
        self.assertIsNone(running.poll())
        self.end(running)
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["verdict"]["outcome"], "oom")

    def test_nothing_is_left_that_a_warning_could_reach(self):
        ours, theirs = os.pipe()
        os.close(ours)  # before the start: what fits into a pipe is written without trouble
        running = self.start("train.log", "--json-lines", stdout=theirs, stderr=theirs)
        os.close(theirs)
        running.wait(timeout=PATIENCE)

    def test_a_reader_of_standard_output_that_stops(self):
        ours, theirs = os.pipe()
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 4096)
        os.write(theirs, b"x" * 4095 + b"\n")
        running = self.start("train.log", *HOOK, "--json-lines", "--every", "0.01s", stdout=theirs)
        os.close(theirs)
        for step in range(2, 12):
            self.append(f"step {step} allocated 10.00 GiB\n")
            time.sleep(0.05)
        self.append(FAILURE)
        self.wait_for_failure()
        self.assertIsNone(running.poll())
        running.send_signal(signal.SIGTERM)
        with open(ours, encoding="utf-8") as file:
            lines = file.read().splitlines()[1:]
        judgements = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual(judgements[-1]["outcome"], "oom")
        self.assertEqual(running.wait(timeout=PATIENCE), 1)

    def test_both_outputs_are_closed_at_the_start(self):
        def close():
            for file in (0, 1, 2):
                os.close(file)
        running = self.start("train.log", *HOOK, "--every", "0.01s", "--output", "json=report.json", preexec_fn=close)
        self.append(FAILURE)
        self.wait_for_failure()
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=PATIENCE)
        self.assertEqual(self.log.read_text(), "step 1 loss 1.0\n" + FAILURE)
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["verdict"]["outcome"], "oom")

    def test_a_file_name_that_looks_like_a_secret(self):
        secret = "abcdefgh"
        for name in (f"authorization=Digest {secret}.log", f"password={secret}", f'token="{secret}'):
            self.log = self.folder / name
            self.log.write_text(FAILURE)
            self.hook.unlink(missing_ok=True)
            running = self.start(name, "--json-lines", "--on-risk", 'printf %s "$OOMDOCTOR_PULSE" > pulse; echo failed > hook')
            line = running.stdout.readline()
            self.assertEqual(json.loads(line)["outcome"], "oom")
            self.wait_for_failure()
            self.assertEqual(json.loads((self.folder / "pulse").read_text())["outcome"], "oom")
            _, _, err = self.end(running)
            for text in (line, (self.folder / "pulse").read_text(), err):
                self.assertNotIn(f"Digest {secret}", text)


class Logs(TroubleCase):
    def test_more_logs_than_descriptors(self):
        names = [f"rank{i}.log" for i in range(60)]
        for name in names:
            (self.folder / name).write_text("step 1 loss 1.0\n")
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
        running = self.start(*names, *HOOK, "--every", "0.01s", "--format", "json", preexec_fn=few)
        for name in names:
            with open(self.folder / name, "a", encoding="utf-8") as file:
                file.write("step 2 loss 1.0\n")
        self.log = self.folder / names[-1]
        self.append(FAILURE)
        self.wait_for_failure()
        _, out, err = self.end(running)
        self.assertNotIn("cannot read", err)
        report = self.last_report(out)
        self.assertEqual(report["verdict"]["outcome"], "oom")
        self.assertEqual(report["coverage"]["lines"], 2 * len(names) + len(FAILURE.splitlines()))

    def test_a_folder_or_a_pipe_with_the_name_of_a_log(self):
        (self.folder / "rank1.log").mkdir()
        os.mkfifo(self.folder / "rank2.log")
        running = self.start("train.log", "rank1.log", "rank2.log", *HOOK, "--every", "0.01s")
        running.stdout.readline()  # it has looked at all of them
        with self.assertRaises(OSError):  # nobody reads the pipe
            os.close(os.open(self.folder / "rank2.log", os.O_WRONLY | os.O_NONBLOCK))
        (self.folder / "rank1.log").rmdir()
        self.log = self.folder / "rank1.log"
        self.append(FAILURE)
        self.wait_for_failure()
        _, _, err = self.end(running)
        for name in ("rank1.log", "rank2.log"):
            self.assertEqual(err.count(f"cannot read '{name}': it is not a regular file"), 1, err)

    def test_a_log_that_is_long_to_read(self):
        line = "RuntimeError: mylib: out of GPU memory, needed %d\n"
        block = "".join(line % (3221225472 + i) for i in range(50))
        self.log.write_text(block * (60_000_000 // len(block)))
        running = self.start("train.log", *HOOK, "--format", "json")
        time.sleep(0.5)
        asked = time.monotonic()
        status, out, _ = self.end(running)
        self.assertLess(time.monotonic() - asked, ANSWER)
        self.assertEqual(status, 1)
        self.assertEqual(self.last_report(out)["verdict"]["outcome"], "oom")
        self.wait_for_failure()


class Hooks(TroubleCase):
    def test_what_the_command_inherits(self):
        show = "ls -l /proc/self/fd > files; cat /proc/self/status > status; cat > input; echo written; echo failed > hook"
        running = self.start("train.log", "--on-risk", show, "--every", "0.01s", "--json-lines", stdin=subprocess.PIPE)
        self.append(FAILURE)
        self.wait_for_failure()  # the command read the end of its input, although ours is open
        _, out, err = self.end(running)
        files = [line.split()[8] for line in (self.folder / "files").read_text().splitlines()[1:]]
        self.assertLessEqual({"0", "1", "2"}, set(files))
        self.assertLessEqual(len(files), 4, files)  # ls opens the folder that it shows
        status = dict(line.split(":", 1) for line in (self.folder / "status").read_text().splitlines())
        for name in ("SigBlk", "SigIgn"):
            now, before = (int(text, 16) for text in (status[name], self.own_status()[name]))
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                if number != signal.SIGPIPE:
                    self.assertEqual(now >> number - 1 & 1, before >> number - 1 & 1, (name, number))
                else:
                    self.assertEqual(now >> number - 1 & 1, 0, name)
        self.assertNotIn("written", out)
        self.assertIn("written", err)

    def own_status(self):
        return dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())

    def test_a_command_that_hangs_blocks_nothing(self):
        running = self.start("train.log", "--on-risk", "echo $OOMDOCTOR_RISK >> hook; sleep 3", "--every", "0.01s",
                             "--json-lines")
        self.append(FAILURE)
        self.wait_for_failure()
        seen = self.judgements(running)
        while next(seen)["outcome"] != "oom":
            pass
        self.append("step 2 loss 1.0\n")
        self.assertEqual(next(seen)["outcome"], "oom")
        asked = time.monotonic()
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=PATIENCE)
        self.assertLess(time.monotonic() - asked, ANSWER)


class Signals(TroubleCase):
    def test_a_signal_that_was_ignored_stays_ignored(self):
        running = self.start("train.log", *HOOK, "--every", "0.01s",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        running.stdout.readline()  # it watches
        running.send_signal(signal.SIGHUP)
        self.append(FAILURE)
        self.wait_for_failure()
        self.assertIsNone(running.poll())
        self.assertEqual(self.end(running)[0], 1)

    def test_children_that_are_ignored(self):
        running = self.start("train.log", *HOOK, "--every", "0.01s",
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.append(FAILURE)
        self.wait_for_failure()
        self.append(leak(3))
        status, _, err = self.end(running)
        self.assertEqual(status, 1)
        self.assertNotIn("without a result", err)

    def test_numbers_that_are_none(self):
        for option, value in (("--warn-at", "nan%"), ("--warn-at", "inf%"), ("--warn-at", "-1%"), ("--warn-at", "0%"),
                              ("--warn-before", "nan"), ("--warn-before", "inf"), ("--warn-before", "-1h"),
                              ("--every", "0"), ("--every", "nan"), ("--every", "1e300d"), ("--every", "infinity"),
                              ("--pid", "0"), ("--pid", "-1"), ("--pid", "1e3")):
            running = self.start("train.log", f"{option}={value}")
            _, err = running.communicate(timeout=PATIENCE)
            self.assertEqual(running.returncode, 2, (option, value))
            self.assertIn(f"invalid {option} '{value}'", err)


if __name__ == "__main__":
    unittest.main()
