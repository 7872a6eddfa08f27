"""oomdoctor watch with real files: they grow, rotate, are emptied, or come late. OOMDOCTOR_BINARY names the program."""
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pseudo_terminal  # noqa: E402
from watching import PATIENCE, SAMPLES, WatchCase, Writer, leak  # noqa: E402


class Watch(WatchCase):
    def test_the_last_report_is_that_of_analyze(self):
        texts = [SAMPLES.joinpath(name).read_bytes() for name in (
            "stories/leak.log", "stories/gpu_two_devices.csv", "stories/fragmentation.log", "kernel/cgroup_block.log")
            if SAMPLES.joinpath(name).exists()]
        self.assertGreaterEqual(len(texts), 3)
        for number, text in enumerate([*texts, leak(60_000).encode()]):
            for seed in range(2):
                choose = random.Random(seed)
                name = f"log{number}-{seed}.log"
                log = Writer(self.folder / name, self.folder / "whole" / name)
                running = self.start(name, "--format", "json", "--every", "0.01s")
                size = 1 + len(text) // 6
                for begin in range(0, len(text), size):
                    log.write(text[begin:begin + size])
                    time.sleep(choose.choice((0, 0.01, 0.05)))
                running.stdout.readline()  # the first judgement: it has started
                _, out, _ = self.end(running)
                last = json.loads(out[out.index("{\n"):])
                self.assertEqual(last, self.analyze(name))

    def test_a_rotated_or_emptied_log_goes_on(self):
        log = Writer(self.folder / "train.log", self.folder / "whole" / "train.log")
        running = self.start("train.log", "--format", "json", "--json-lines")
        seen = self.judgements(running)
        next_step = 1
        for turn in (log.replace, log.empty, log.replace, log.empty, None):
            log.write(leak(40, next_step).encode())
            next_step += 40
            for judgement in seen:
                if judgement.get("step") == next_step - 1:
                    break
            if turn:
                turn()
                time.sleep(0.6)  # as everybody who follows a file, it must see that it is empty before it is full again
        _, out, _ = self.end(running)
        self.assertEqual(json.loads(out[out.index("{\n"):]), self.analyze("train.log"))

    def test_logs_may_come_later(self):
        running = self.start("rank0.log", "rank1.log", "--csv", "gpu.csv", "--json-lines")
        time.sleep(0.2)
        for name in ("rank0.log", "rank1.log"):
            (self.folder / name).write_text(leak(50))
        (self.folder / "gpu.csv").write_bytes((SAMPLES / "stories/gpu_two_devices.csv").read_bytes())
        for judgement in self.judgements(running):
            if judgement["memory"].startswith("GPU memory"):
                break
        self.assertEqual(judgement["outcome"], "at_risk")
        self.end(running)

    def test_it_warns_once_and_again_after_it_was_over(self):
        words = ("--capacity", "23.69GiB", "--json-lines", "--warn-at", "80%", "--every", "0.05s", "--on-risk",
                 "echo $OOMDOCTOR_RISK: $OOMDOCTOR_MESSAGE >> risks.txt; echo $OOMDOCTOR_PULSE > pulse.json")
        running = self.start("t.log", *words)
        seen = self.judgements(running)
        risks = self.folder / "risks.txt"

        def write(text, last_fill):
            with open(self.folder / "t.log", "a", encoding="utf-8") as file:
                file.write(text)
            for judgement in seen:
                if abs(judgement.get("fill", 0) - last_fill) < 0.005:
                    return
        write("step 1 allocated 10.00 GiB\n", 10 / 23.69)
        self.assertFalse(risks.exists())
        write("step 2 allocated 20.00 GiB\n", 20 / 23.69)
        self.wait_for(risks.exists)
        write("step 3 allocated 20.50 GiB\n", 20.5 / 23.69)
        write("step 4 allocated 18.50 GiB\n", 18.5 / 23.69)  # nearly as much: the warning holds
        write("step 5 allocated 20.50 GiB\n", 20.5 / 23.69)
        write("step 6 allocated 9.00 GiB\n", 9 / 23.69)
        write("step 7 allocated 21.00 GiB\n", 21 / 23.69)
        self.wait_for(lambda: len(risks.read_text().splitlines()) == 2)
        with open(self.folder / "t.log", "a", encoding="utf-8") as file:
            file.write((SAMPLES / "stories/leak.log").read_text())
        self.wait_for(lambda: "failed: " in risks.read_text())
        _, _, err = self.end(running)
        kinds = [line.split(":")[0] for line in risks.read_text().splitlines()]
        self.assertEqual(kinds[:2] + kinds[-1:], ["nearly_full", "nearly_full", "failed"])
        self.assertEqual(err.count("warning:"), len(kinds))
        self.assertEqual(json.loads((self.folder / "pulse.json").read_text())["outcome"], "oom")

    def test_gauges_for_prometheus(self):
        (self.folder / "t.log").write_text("export HF_TOKEN=hf_" + "abcdefghij" * 3 + "ABCD\n" + leak(50))
        running = self.start("t.log", "--prometheus", "oom.prom", "--format", "json")
        self.wait_for((self.folder / "oom.prom").exists)
        _, _, err = self.end(running)
        self.assertEqual(err, "")  # no note with every judgement
        self.assertIn('oomdoctor_outcome{outcome="at_risk"} 1', (self.folder / "oom.prom").read_text())

    def test_it_ends_with_the_process_of_the_job(self):
        (self.folder / "t.log").write_text(leak(50))
        with subprocess.Popen(["sleep", "0.5"]) as job:
            running = self.start("t.log", "--pid", str(job.pid), "--format", "json")
            job.wait()
            out, _ = running.communicate(timeout=PATIENCE)
        self.assertEqual(json.loads(out[out.index("{\n"):])["verdict"]["outcome"], "at_risk")

    def test_a_terminal_has_one_line_that_changes(self):
        ours, theirs = pseudo_terminal.opened()
        self.addCleanup(os.close, ours)
        (self.folder / "t.log").write_text(leak(50))
        running = self.start("t.log", stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        text = b""
        while b"step 50: allocated 9 GiB, +20.5 MiB per step" not in text:
            self.assertTrue(select.select([ours], [], [], PATIENCE)[0], text)
            text += os.read(ours, 4096)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=PATIENCE), 0)

    def test_options_are_checked_first(self):
        for words, hint in ((("t.log", "--warn-before", "soon"), "30min"), (("t.log", "--warn-at", "much"), "90%"),
                            (("t.log", "--pid", "me"), "process"), ((), "train.log")):
            running = self.start(*words)
            _, err = running.communicate(timeout=PATIENCE)
            self.assertEqual(running.returncode, 2)
            self.assertIn(hint, err)


if __name__ == "__main__":
    unittest.main()
