"""The HTML report in a browser: what is in sight and where, that nothing of a log acts, that nothing is loaded, and
that it can be read without scripts, without styles, on a phone and on paper. OOMDOCTOR_BINARY names the program; needs
Chromium, and npm for axe-core.
"""

import functools
import http.server
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from xml.etree import ElementTree

from browser import Browser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm_tools  # noqa: E402

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
STORIES = HERE.parents[1] / "samples" / "stories"
# Of each kind of page one: with a chart, with an account alone, with neither, of GPUs, without a failure, of snapshots.
SAMPLES = ("leak.log", "fragmentation.log", "model_states_optimizer.log", "host_slurm.log", "gpu_two_devices.csv",
           "ddp_two_ranks.log", "handled_batch_finder.log", "host_numpy.log", "../snapshots/pinned.pickle",
           "../snapshots/leak.pickle")
FAULTS = (HERE / "geometry.js").read_text()
WIDE, TABLET, PHONE = {"width": 1440, "height": 900}, {"width": 768, "height": 1024}, {"width": 390, "height": 844}
# What Jenkins sends with the artifacts of a build.
JENKINS = "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';"

EVIL = ("</script></style></title><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
        "<svg/onload=window.pwned=3>")
HOSTILE = f"""\
{EVIL}
step 1 allocated 10.00 GiB
step 2 allocated 12.00 GiB
Traceback (most recent call last):
  File "{EVIL}.py", line 88, in {EVIL}
    loss.backward("{EVIL}")
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB of \
which 1.06 GiB is free. Of the allocated memory 21.42 GiB is allocated by PyTorch, and 842.10 MiB is reserved by \
PyTorch but unallocated. {EVIL}
"""


def many_ranks(ranks=64, steps=120):
    noise = random.Random(7)
    for step in range(1, steps + 1):
        for rank in range(ranks):
            held = 20 + (12 * step / steps if rank == 3 else 0) + noise.random() / 3
            yield f"[rank{rank}]: step {step * 10} allocated {held:.2f} GiB reserved {held + 3:.2f} GiB\n"
    yield ("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 3 has a total "
           "capacity of 36.00 GiB of which 0.46 GiB is free. Of the allocated memory 31.92 GiB is allocated by "
           "PyTorch, and 3.10 GiB is reserved by PyTorch but unallocated.\n")


def four_gpus(seconds=600):
    """As nvidia-smi prints them: idle, loading, working, and one of them grows."""
    noise = random.Random(3)
    yield "timestamp, index, name, memory.used [MiB], memory.total [MiB]\n"
    for second in range(seconds):
        for gpu in range(4):
            used = 450 + 500 * min(max(second - 60, 0), 40) + (40 * max(second - 100, 0) if gpu == 2 else 0)
            used += 100 * noise.random() if second > 100 else 0
            yield (f"2025/02/01 12:{second // 60:02}:{second % 60:02}.104, {gpu}, NVIDIA A100-SXM4-40GB, "
                   f"{used:.0f} MiB, 40960 MiB\n")


def a_million_values():
    noise = random.Random(7)
    for step in range(500_000):
        held = 20 + 8 * step / 500_000 + (30 if step == 123_456 else noise.random() / 3)
        yield f"step {step} allocated {held:.2f} GiB reserved {held + 3:.2f} GiB\n"


def setUpModule():
    InABrowser.browser = Browser()
    unittest.addModuleCleanup(InABrowser.browser.close)


class InABrowser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report_on(self, log):
        """The page for a sample, or for these lines; its path."""
        if not isinstance(log, pathlib.Path):
            lines, log = log, self.folder / "train.log"
            with open(log, "w") as file:
                file.writelines(lines)
        path = self.folder / "report.html"
        subprocess.run([BINARY, "analyze", "--fail-on", "never", "--output", f"html={path}", log], check=True,
                       capture_output=True, timeout=300)
        return path

    def open(self, path, **look):
        page = self.browser.open(path if str(path).startswith("http") else path.as_uri(), **look)
        self.addCleanup(page.close)
        return page

    def assert_quiet(self, page):
        """No script failed, the policy refused nothing, and nothing but the page itself was asked for."""
        self.assertEqual(page.complaints(), [])
        self.assertEqual(len(page.requests()), 1, page.requests())

    def assert_in_first_view(self, page, selector):
        bottom = page.evaluate(f"document.querySelector({selector!r}).getBoundingClientRect().bottom")
        self.assertLess(bottom, page.evaluate("innerHeight"), selector)


class Contents(InABrowser):
    def test_verdict_first_fix_and_chart_are_in_sight_without_scrolling(self):
        for story in ("leak", "fragmentation"):
            page = self.open(self.report_on(STORIES / f"{story}.log"), **WIDE)
            self.assertIn("OUT OF MEMORY", page.evaluate("document.querySelector('.outcome').textContent"))
            for selector in ("#verdict h1", ".first-fix .command", ".chart .plot"):
                self.assert_in_first_view(page, selector)
            verdict, chart = (page.evaluate(f"document.querySelector('{s}').getBoundingClientRect().right")
                              for s in ("#verdict", ".chart"))
            self.assertLess(verdict, chart)
            self.assert_quiet(page)

    def test_without_a_chart_the_account_or_the_failing_line_is_beside_the_verdict(self):
        for log, section in (("model_states_optimizer.log", "account"), ("host_slurm.log", "evidence")):
            page = self.open(self.report_on(STORIES / log), **WIDE)
            self.assertEqual(page.evaluate("document.querySelector('.first-view').children[1].id"), section)
            self.assertEqual(page.evaluate(f"document.querySelectorAll('#{section}').length"), 1)

    def test_the_navigation_leads_to_every_section(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => [a.textContent, a.hash])")
        self.assertEqual([title for title, _ in links], ["Verdict", "Fixes", "Where the memory was",
                                                         "Memory over the run", "Evidence", "Inputs"])
        for _, section in links:
            self.assertEqual(page.evaluate(f"document.querySelector('{section}').localName"), "section")
        page.evaluate("scrollTo(0, 2000)")
        self.assertEqual(page.evaluate("document.querySelector('nav').getBoundingClientRect().top"), 0)

    def test_nothing_is_twice_on_the_page(self):
        for sample in SAMPLES:
            page = self.open(self.report_on(STORIES / sample), **WIDE)
            # Fixes and causes may share a sentence.
            said = "main :is(p:not(.fixes p), li:not(.reasons li, .explanation li), pre, h1, h2)"
            texts = page.evaluate(f"[...document.querySelectorAll('{said}')]"
                                  ".filter(e => !e.querySelector('p, pre')).map(e => e.textContent.trim())")
            twice = {text for text in texts if len(text) > 30 and texts.count(text) > 1}
            self.assertEqual(twice, set(), sample)

    def test_the_header_says_which_run_it_was(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        facts = dict(page.evaluate("[...document.querySelectorAll('.facts div')]"
                                   ".map(d => [...d.children].map(e => e.textContent))"))
        self.assertTrue(facts["Log"].endswith("leak.log"))
        self.assertIn("oomdoctor", facts)
        self.assertFalse({"GPU", "Failed at"} & set(facts))  # the card has them

    def test_the_card_says_when_and_where_it_failed(self):
        for log, words in ((STORIES / "leak.log", "GPU 0, NVIDIA A100-SXM4-80GB · at step 1240, in the backward pass · "
                                                  "failed at 2025-03-04 09:32:10 · "
                                                  "192.00 MiB requested, 151.31 MiB of 79.15 GiB free"),
                           (STORIES / "host_slurm.log", "failed at 2025-03-27 15:30:11"),  # two lines above
                           (STORIES / "smi_export_fills_up.csv", "GPU 1, NVIDIA L40S"),
                           (STORIES / "smi_export_fills_up.csv", "only GPU 1 of 2 grows; full at"),
                           (many_ranks(), "GPU 3 · at step 1200 · rank 3 · "),
                           (many_ranks(), "only rank 3 of 64 grows")):
            page = self.open(self.report_on(log), **WIDE)
            card = page.evaluate("document.querySelector('#verdict').innerText")
            self.assertIn(words, card)
            self.assertEqual(page.evaluate("document.body.innerText").lower().count("rank 3 of 64 grows"),
                             card.lower().count("rank 3 of 64 grows"))
            self.assert_in_first_view(page, "#verdict .moment")

    def test_the_card_says_what_is_known_of_the_memory_of_the_host(self):
        samples = STORIES.parent
        for log, words in (("slurm/request_gb.log", "The job requested 48"), ("stories/host_slurm.log", "The job requested 48"),
                           ("slurm/snakemake.log", "The job requested 22.4?"),
                           ("slurm/old_limit.log", "16.2.* used of 16"), ("slurm/sacct.log", "31.* used of 32"),
                           ("slurm/report_of_nodes.log", "The limit of 32"), ("slurm/virtual.log", "used of 20"),
                           ("kubernetes/describe.log", "The limit of 24 GiB"),
                           ("kubernetes/evicted_request.log", "the container requested 8"),
                           ("kubernetes/shm_volume.log", "The limit was 8"), ("schedulers/pbs.log", "32.* used of 32"),
                           ("stories/host_kernel.log", "a machine with 64"), ("stories/host_kubernetes.log", "The limit of 48"),
                           ("run/address_space.log", "may have 87[89].* of address space"),
                           ("circumstances/full_before.log", "23.2.* of 2")):
            page = self.open(self.report_on(samples / log), **WIDE)
            card = page.evaluate("document.querySelector('#verdict').innerText")
            self.assertRegex(card, words, log)
            self.assertNotIn("No numbers", card, log)
            if "request_gb" in log:  # the line of the request, and that of the kill
                self.assertEqual(page.evaluate("[...document.querySelectorAll('#verdict a')].map(a => a.textContent)"), ["3", "4"])
            said = [line.lower() for line in card.split("\n")]
            for part in (part for line in said for part in line.split(" · ") if "gib" in part):
                self.assertEqual(card.lower().count(part), 1, (log, part))

    def test_fixes_do_not_repeat_what_the_card_says(self):
        for log, words in (("leak.log", "48.0 MiB per step"), ("host_kernel.log", "59.04 GiB"), ("host_slurm.log", "requested 48")):
            page = self.open(self.report_on(STORIES / log), **WIDE)
            reasons = "[...document.querySelectorAll('.first-fix > p, .fixes p:not(.instruction)')].map(e => e.textContent).join()"
            self.assertNotIn(words, page.evaluate(reasons), log)
            self.assertEqual(page.evaluate("document.querySelector('#verdict').innerText").count(words), 1, log)

    def test_a_citation_leads_to_the_line_of_the_log(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        broken = page.evaluate("[...document.querySelectorAll('main a[href^=\"#\"]')].filter(a => !document.querySelector(a.hash))"
                               ".map(a => a.hash)")
        self.assertEqual(broken, [])
        self.assertIn("allocated", page.evaluate("document.querySelector('#line-1-156').textContent"))

    def test_a_failure_stands_between_its_neighbours_and_long_lines_scroll(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **PHONE)
        lines = (STORIES / "leak.log").read_text().split("\n")
        shown = page.evaluate("[...document.querySelectorAll('.excerpt')].map(e => e.innerText)")[0]
        for number in (183, 184, 185, 186):
            self.assertIn(f"{number} │ {lines[number - 1]}".rstrip(), shown)
        self.assertTrue(page.evaluate("(e => e.scrollWidth > e.clientWidth && document.documentElement.scrollWidth <= innerWidth)"
                                      "(document.querySelector('.excerpt'))"))

    def test_cited_lines_stand_between_their_neighbours(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        lines = (STORIES / "leak.log").read_text().split("\n")
        shown = page.evaluate("document.querySelector('.lines').innerText")
        for number in (29, 30, 31, 33, 34, 35):  # around line 32, where the series begins
            self.assertIn(lines[number - 1].strip(), shown)
        page = self.open(self.report_on(STORIES / "host_slurm.log"), **WIDE)  # a fix cites line 4
        rows = page.evaluate("[...document.querySelectorAll('.lines .place')].map(e => e.textContent)")
        self.assertEqual(rows, ["line 1", "2", "3", "line 4", "5", "6", "7"])
        log = self.folder / "gone.log"
        log.write_text((STORIES / "leak.log").read_text())
        part = self.folder / "gone.part"
        part.write_bytes(subprocess.run([BINARY, "analyze", "--format", "partial", log], check=True,
                                        capture_output=True).stdout)
        log.write_text("another log\n" * 300)  # of other lines by now
        subprocess.run([BINARY, "merge", "--fail-on", "never", "--output", f"html={self.folder / 'gone.html'}", part],
                       check=True, capture_output=True)
        self.assertNotIn("another log", self.open(self.folder / "gone.html").evaluate("document.body.textContent"))

    def rows_of(self, page):
        return page.evaluate("[...document.querySelectorAll('.lines > div')].map(e => Number(e.innerText.match(/\\d+/)[0]))")

    def test_every_cited_line_has_three_lines_on_each_side(self):
        for sample in SAMPLES:
            log = STORIES / sample
            if log.suffix == ".pickle":
                continue
            page = self.open(self.report_on(log), **WIDE)
            rows, length = self.rows_of(page), len(log.read_text().splitlines())
            cited = page.evaluate("[...document.querySelectorAll('.lines [id]')].map(e => Number(e.id.split('-')[2]))")
            near = {line for at in cited for line in range(at - 3, at + 4) if 1 <= line <= length}
            self.assertEqual(rows, sorted(near), sample)

    def test_the_end_of_a_large_log_has_its_neighbours_and_a_pipe_says_why_not(self):
        lines = (STORIES / "leak.log").read_text().split("\n")
        filler = [f"INFO: some other text of line {i}, which has nothing about memory\n" for i in range(1000)]
        log = self.folder / "large.log"
        with open(log, "w") as file:
            file.write("\n".join(lines[:100]) + "\n")
            for _ in range(1500):  # 100 MB
                file.writelines(filler)
            file.write("\n".join(lines[100:]))
        page = self.open(self.report_on(log), **WIDE)
        self.assertIn("line 1500156", page.evaluate("document.querySelector('.lines').innerText"))
        for number in (29, 35, 1_500_153, 1_500_159):
            self.assertIn(number, self.rows_of(page))
        path = self.folder / "piped.html"
        subprocess.run([BINARY, "analyze", "--fail-on", "never", "--output", f"html={path}", "-"], check=True,
                       input=(STORIES / "leak.log").read_bytes(), capture_output=True)
        self.assertIn("standard input, a pipe or a member of an archive is not read twice",
                      self.open(path).evaluate("document.querySelector('#evidence').textContent"))

    def test_dated_logs_have_a_clock_below_the_chart(self):
        page = self.open(self.report_on(four_gpus()), **WIDE)
        clock = page.evaluate("[...document.querySelectorAll('.ticks text')].map(t => t.textContent).filter(t => t.includes(':'))")
        self.assertIn("12:05:00", clock)
        self.assertIn("clock time on 2025-02-01", page.evaluate("document.querySelector('.x-title').textContent"))
        page = self.open(self.report_on(f"step {i} allocated {9 + (i > 2)}.00 GiB\n" for i in range(60)), **WIDE)
        self.assertNotIn("clock", page.evaluate("document.querySelector('.plot').textContent"))

    def test_the_explanation_of_the_cause_is_folded_into_a_page_without_a_site(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('a[href^=http]')].length"), 0)
        said = subprocess.run([BINARY, "explain", "leak"], check=True, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": "400", "NO_COLOR": "1"}).stdout
        self.assertNotIn("http", said)
        fold = page.evaluate("(e => [e.open, e.textContent])(document.querySelector('.explanation'))")
        self.assertFalse(fold[0])
        for line in (line.strip() for line in said.splitlines()):
            if line.startswith("- "):
                self.assertIn(line[2:].replace("`", ""), fold[1])

    def test_few_fixes_are_open_and_one_button_opens_all(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        state = "[...document.querySelectorAll('.fixes details')].map(d => d.open)"
        folds = page.evaluate(state)
        self.assertEqual(folds, [True, True] + [False] * (len(folds) - 2))
        page.click(*page.centre("nav button"))
        self.assertEqual(set(page.evaluate(state)), {True})
        page.click(*page.centre("nav button"))
        self.assertEqual(set(page.evaluate(state)), {False})

    def test_only_commands_have_a_copy_button(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        self.assertIn("save a checkpoint", page.evaluate("document.querySelector('.instruction').textContent"))
        self.assertNotIn("save a checkpoint", page.evaluate(
            "[...document.querySelectorAll('.command code')].map(e => e.textContent).join()"))
        gap = re.compile(r"…|\.\.\.|\b(COMMAND|PID|JOB|POD|N)\b")
        for sample in (*SAMPLES, "../circumstances/process_group_nccl.log", "../kubernetes/describe_pod.txt"):
            if not (STORIES / sample).exists():
                continue
            page = self.open(self.report_on(STORIES / sample), **WIDE)
            commands = page.evaluate("[...document.querySelectorAll('.command code')].map(e => e.textContent)")
            lines = [line.split("  # ")[0] for command in commands for line in command.split("\n")]
            self.assertEqual([line for line in lines if gap.search(line)], [], sample)
        page = self.open(self.report_on(STORIES / "host_slurm.log"), **WIDE)
        self.assertIn("DataLoader(…, num_workers=4)", page.evaluate("document.querySelector('.instruction code').textContent"))
        self.assertEqual(page.evaluate("document.querySelectorAll('.instruction button').length"), 0)

    def test_savings_and_cost_are_columns(self):
        page = self.open(self.report_on(STORIES / "fragmentation.log"), **WIDE)
        looks = page.evaluate("[...document.querySelectorAll('.fix-head .columns :not(:empty)')].map(e => [e.localName,"
                              "getComputedStyle(e).color, getComputedStyle(e).fontWeight, getComputedStyle(e).fontSize].join())")
        self.assertEqual(len(set(looks)), 1, looks)
        for column in ("saves", "cost"):
            ends = page.evaluate(f"[...document.querySelectorAll('.fixes .{column}')].filter(e => e.textContent)"
                                 ".map(e => Math.round(e.getBoundingClientRect().right))")
            self.assertEqual(len(set(ends)), 1, column)

    def test_a_healthy_log_has_a_page_too(self):
        page = self.open(self.report_on(f"step {i} allocated {9 + (i > 2)}.00 GiB\n" for i in range(60)))
        self.assertEqual(page.evaluate("document.querySelector('.outcome').textContent"), "NO SIGN OF MEMORY FAILURE")
        self.assertEqual(page.evaluate("document.querySelectorAll('.chart').length"), 1)
        self.assert_quiet(page)

    def test_a_healthy_page_says_what_batch_would_fit(self):
        log = ["per_device_train_batch_size=8\n"] + [f"step {i} max reserved {9 + (i > 2)}.00 GiB\n" for i in range(60)]
        path = self.folder / "page.html"
        (self.folder / "fine.log").write_text("".join(log))
        subprocess.run([BINARY, "analyze", "--capacity", "40GiB", "--output", f"html={path}", self.folder / "fine.log"],
                       check=True, capture_output=True)
        text = self.open(path).evaluate("document.querySelector('#verdict').textContent")
        self.assertRegex(text, r"Peak 10 GiB of 40 GiB \(25%\), 30\.0 GiB free\.")
        self.assertIn("A batch of at least 29 fits (now 8)", text)

    def test_an_empty_log_has_a_page_too(self):
        page = self.open(self.report_on(["\n"]))
        self.assertEqual(page.evaluate("document.querySelector('.outcome').textContent"), "NOTHING RECOGNISED")
        self.assert_quiet(page)

    def test_of_many_ranks_the_failed_one_is_first_and_the_others_are_behind(self):
        path = self.report_on(many_ranks())
        page = self.open(path)
        self.assertEqual(page.evaluate("document.querySelector('#ranks .tile strong').textContent"), "rank 3")
        self.assertEqual(page.evaluate("document.querySelectorAll('#ranks .tile').length"), 64)
        self.assertEqual(page.evaluate("document.querySelectorAll('.plot .faint').length"), 63)
        self.assertEqual(page.evaluate("document.querySelectorAll('.plot .line').length"), 2)
        self.assertLess(path.stat().st_size, 400 * 1024)
        self.assert_quiet(page)

    def test_gpus_are_side_by_side_in_the_colours_of_the_chart(self):
        page = self.open(self.report_on(four_gpus()))
        self.assertEqual(page.evaluate("document.querySelector('#gpus .tile strong').textContent"), "GPU 2")
        stroke = "Object.fromEntries([...document.querySelectorAll('{}')].map(e => [{}, getComputedStyle({}).stroke]))"
        lines = page.evaluate(stroke.format(".plot .line", "e.dataset.name", "e"))
        tiles = page.evaluate(stroke.format("#gpus .tile", "e.querySelector('strong').textContent",
                                            "e.querySelector('path[fill=none]')"))
        self.assertEqual(lines, tiles)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.stage')].map(e => e.textContent)"),
                         ["idle", "load", "forecast"])

    def test_a_series_has_one_colour_in_all_pictures(self):
        page = self.open(self.report_on(STORIES / "gpu_two_devices.csv"))
        lines = page.evaluate("Object.fromEntries([...document.querySelectorAll('.plot .line')]"
                              ".map(e => ['GPU memory used, ' + e.dataset.name, getComputedStyle(e).stroke]))")
        sparks = page.evaluate("Object.fromEntries([...document.querySelectorAll('#memory tbody tr')].map(e => "
                               "[e.cells[0].textContent, getComputedStyle(e.querySelector('.spark path')).stroke]))")
        self.assertEqual(lines, sparks)
        self.assertEqual(len(set(lines.values())), 2)

    def test_the_account_balances(self):
        page = self.open(self.report_on(STORIES / "fragmentation.log"))
        rows = page.evaluate("[...document.querySelectorAll('#account tr')].slice(1)"
                             ".map(r => Math.round(100 * r.children[1].textContent))")
        self.assertEqual(sum(rows[:-1]), rows[-1])

    def test_small_parts_of_the_account_are_in_sight(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        widths = page.evaluate("[...document.querySelectorAll('.bar g rect')]"
                               ".map(r => r.getBoundingClientRect().width)")
        self.assertGreater(min(widths), 3)
        self.assertIn("<1%", page.evaluate("document.querySelector('#account table').textContent"))
        self.assertNotRegex(page.evaluate("document.querySelector('#account table').textContent"), r"\b0%")

    def test_the_blocks_of_a_snapshot_are_drawn_to_scale(self):
        page = self.open(self.report_on(STORIES / "../snapshots/pinned.pickle"), **WIDE)
        snapshot = json.loads(subprocess.run([BINARY, "analyze", "--fail-on", "never", "--format", "json",
                                              STORIES / "../snapshots/pinned.pickle"], check=True, capture_output=True,
                                             timeout=60).stdout)["snapshots"][0]
        asked, free = page.evaluate("[...document.querySelectorAll('.map .rows path')].slice(0, 2)"
                                    ".map(e => e.getBoundingClientRect().width)")
        self.assertAlmostEqual(asked / free, snapshot["request_bytes"] / snapshot["largest_free_bytes"], delta=0.1)
        textures = page.evaluate("[...document.querySelectorAll('.curves pattern path')].map(e => e.getAttribute('d'))")
        self.assertEqual(len(set(textures)), len(textures))
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        self.assertEqual(len(set(ids)), len(ids))
        missing = page.evaluate("[...document.querySelectorAll('[fill^=url]')].map(e => e.getAttribute('fill').slice(5, -1))"
                                ".filter(id => !document.getElementById(id))")
        self.assertEqual(missing, [])
        self.assert_quiet(page)

    def test_the_report_is_copied_as_markdown(self):
        page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.click(*page.centre(".top button"))
        self.assertTrue(page.evaluate("window.copied").startswith("## OUT OF MEMORY"))
        page.click(*page.centre(".first-fix .command button"))
        self.assertEqual(page.evaluate("window.copied"),
                         page.evaluate("document.querySelector('.first-fix .command code').textContent"))


class Looks(InABrowser):
    """Every sample in a wide window and on a phone, in light and dark."""

    def in_each_look(self, check):
        """Asserts that `check` finds no fault of a page."""
        logs = [(sample, STORIES / sample) for sample in SAMPLES] 
        logs += [("many ranks", many_ranks()), ("four GPUs", four_gpus())]
        for name, log in logs:
            path = self.report_on(log).rename(self.folder / "page.html")
            for size, dark in itertools.product((WIDE, TABLET, PHONE), (False, True)):
                with self.subTest(sample=name, width=size["width"], dark=dark):
                    page = self.open(path, dark=dark, **size)
                    self.assertEqual(check(page), [])

    def test_nothing_is_clipped_covered_empty_or_too_faint(self):
        def check(page):
            folded = page.evaluate(FAULTS)
            page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
            return folded or page.evaluate(FAULTS)

        self.in_each_look(check)

    def test_axe_finds_no_fault(self):
        axe = (npm_tools.install(HERE) / "axe-core" / "axe.min.js").read_text()

        def check(page):
            page.evaluate(axe + ";0")
            return page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")

        self.in_each_look(check)


class Safety(InABrowser):
    def test_text_of_the_log_stays_text(self):
        page = self.open(self.report_on([HOSTILE]))
        self.assertEqual(page.evaluate("String(window.pwned)"), "undefined")
        acting = "document.querySelectorAll('img, iframe, object, embed, link, base, form').length"
        self.assertEqual(page.evaluate(acting), 0)
        self.assertEqual(page.evaluate("document.scripts.length"), 1)
        self.assertEqual(page.evaluate("document.querySelectorAll('[onerror], [onload]').length"), 0)
        self.assertTrue(page.evaluate("document.body.innerText.includes('<img src=x onerror=window.pwned=2>')"))
        self.assert_quiet(page)

    def test_the_policy_stops_what_would_slip_through(self):
        path = self.report_on(STORIES / "leak.log")
        text = path.read_text()
        path.write_text(text.replace("<main>", f"<main>{EVIL}"))
        page = self.open(path)
        self.assertEqual(page.evaluate("String(window.pwned)"), "undefined")
        self.assertNotEqual(page.complaints(), [])

    def test_the_policy_allows_no_source(self):
        text = self.report_on(STORIES / "leak.log").read_text()
        self.assertIn("default-src 'none'; script-src 'sha256-", text)
        self.assertNotIn("unsafe", text.split("</title>")[0])


class WithoutHelp(InABrowser):
    SIZE = "document.querySelector('.chart svg').getBoundingClientRect().height"

    def test_without_scripts_the_chart_is_there(self):
        path = self.report_on(STORIES / "leak.log")
        for size in (WIDE, PHONE):
            page = self.open(path, scripts=False, **size)
            self.assertGreater(page.evaluate(self.SIZE), 200)
            self.assertEqual(page.evaluate("document.querySelectorAll('.live, button').length"), 0)
            self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
            self.assert_quiet(page)

    def test_scripts_take_nothing_from_the_chart(self):
        path = self.report_on(STORIES / "leak.log")
        parts = "[...document.querySelectorAll('.plot path:not(.cursor, .grid), .plot text:not(.ticks text)')].length"
        words = "[...document.querySelectorAll('.plot text:not(.ticks text)')].map(e => e.textContent)"
        still, live = (self.open(path, scripts=scripts, **WIDE) for scripts in (False, True))
        self.assertEqual(still.evaluate(parts), live.evaluate(parts))
        self.assertEqual(still.evaluate(words), live.evaluate(words))
        for text in ("GPU memory (GiB)", "step; clock time on 2025-03-04", "allocated", "capacity", "requested"):
            self.assertIn(text, still.evaluate(words))

    def test_under_the_policy_of_jenkins_attributes_carry_the_chart(self):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def end_headers(self):
                self.send_header("Content-Security-Policy", JENKINS)
                super().end_headers()

            def log_message(self, *_):
                pass

        path = self.report_on(STORIES / "leak.log")
        handler = functools.partial(Handler, directory=str(self.folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        page = self.open(f"http://127.0.0.1:{server.server_port}/{path.name}")
        self.assertGreater(page.evaluate(self.SIZE), 200)
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('.chart path.c0')).stroke"),
                         "rgb(0, 114, 178)")
        self.assertEqual(page.evaluate("document.querySelectorAll('.live').length"), 0)
        self.assert_in_first_view(page, "#verdict h1")

    def test_two_sheets_of_paper_with_the_commands_of_all_fixes(self):
        for sample, scripts in itertools.product(SAMPLES, (True, False)):
            page = self.open(self.report_on(STORIES / sample), scripts=scripts)
            many = page.evaluate("document.querySelectorAll('.fixes pre').length") > 8
            self.assertLessEqual(page.paper_pages(), 3 if many else 2, sample)
            page.call("Emulation.setEmulatedMedia", media="print")
            self.assertEqual(page.evaluate("[...document.querySelectorAll('nav, button')]"
                                           ".filter(e => e.checkVisibility()).length"), 0)
            seen = "e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0"
            for what in (".first-fix pre", ".fixes pre", ".instruction"):
                commands = f"[...document.querySelectorAll('{what}')]"
                self.assertEqual(page.evaluate(f"{commands}.filter({seen}).length"), page.evaluate(f"{commands}.length"), sample)
            prose = page.evaluate(f"[...document.querySelectorAll('.fixes li:nth-child(n + 2) p:not(.instruction)')].filter({seen}).length")
            self.assertEqual(prose, 0)  # folded: the sheets have room for the commands

    def test_dark_where_the_reader_likes_it(self):
        path = self.report_on(STORIES / "leak.log")
        paper = [self.open(path, dark=dark).evaluate("getComputedStyle(document.body).backgroundColor")
                 for dark in (False, True)]
        self.assertEqual(paper, ["rgb(255, 255, 255)", "rgb(20, 23, 28)"])


class Charts(InABrowser):
    TICKS = "[...document.querySelectorAll('.ticks text[text-anchor=middle]')].map(e => Number(e.textContent))" \
            ".filter(tick => !Number.isNaN(tick))"  # the clock has no number
    TIP = "(e => e.hidden ? '' : [...e.children].map(p => p.textContent).join('; '))(document.querySelector('.tip'))"

    def setUp(self):
        super().setUp()
        self.page = self.open(self.report_on(STORIES / "leak.log"), **WIDE)
        self.left, self.top, self.width, self.height = self.page.evaluate(
            "(r => [r.left, r.top, r.width, r.height])(document.querySelector('.area').getBoundingClientRect())")

    def at(self, x, y=0.5):
        return self.left + x * self.width, self.top + y * self.height

    def window(self):
        return [float(v) for v in self.page.evaluate("document.querySelector('.area').getAttribute('viewBox')").split()]

    def can_reset(self):
        return self.page.evaluate("document.querySelector('.chart-tools button')"
                                  ".checkVisibility({visibilityProperty: true})")

    def test_the_tooltip_says_values_step_and_line(self):
        self.page.mouse("Moved", *self.at(0.001))
        tip = self.page.evaluate(self.TIP)
        self.assertEqual(tip, "step 10, 09:12:35; allocated: 19.55 GiB, 24.7% (line 32); reserved: 20.75 GiB, 26.2% (line 32)")
        box = self.page.evaluate("(r => [r.left, r.right])(document.querySelector('.tip').getBoundingClientRect())")
        self.assertGreater(box[0], self.at(0.001)[0])
        self.assertLess(box[0], self.at(0.1)[0])  # at the cursor
        self.page.mouse("Moved", *self.at(0.5))
        self.assertRegex(self.page.evaluate(self.TIP), r"^step 6\d0, 09:2\d:\d\d; allocated: 4\d\.\d+ GiB, 6\d(\.\d)?%; reserved: ")
        self.page.mouse("Moved", *self.at(0.979))
        self.assertIn("OOM (line 186)", self.page.evaluate(self.TIP))
        self.page.mouse("Moved", 5, 5)
        self.assertEqual(self.page.evaluate(self.TIP), "")

    def test_dragging_zooms_and_a_button_shows_all_again(self):
        whole = self.window()
        self.assertFalse(self.can_reset())
        self.page.drag(self.at(0.5), self.at(0.6))
        left, top, width, height = self.window()
        self.assertAlmostEqual(left, 0.5 * whole[2], delta=0.01 * whole[2])
        self.assertAlmostEqual(width, 0.1 * whole[2], delta=0.01 * whole[2])
        self.assertLess(height, 0.3 * whole[3])  # the values are as large as the window
        ticks = self.page.evaluate(self.TICKS)
        self.assertGreaterEqual(len(ticks), 3)
        self.assertTrue(all(10 + left <= tick <= 10 + left + width for tick in ticks), ticks)
        self.assertEqual(self.page.evaluate(FAULTS), [])
        self.assertTrue(self.can_reset())
        self.page.click(*self.page.centre(".chart-tools button"))
        self.assertEqual(self.window(), whole)

    def test_a_double_click_and_escape_show_all_again(self):
        whole = self.window()
        self.page.drag(self.at(0.2), self.at(0.4))
        self.page.click(*self.at(0.5), count=2)
        self.assertEqual(self.window(), whole)
        self.page.drag(self.at(0.2), self.at(0.4))
        self.page.evaluate("document.querySelector('.chart').focus()")
        for key, shift in (("ArrowRight", 8), ("Escape", 0)):
            before = self.window()
            self.page.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=shift)
            self.assertNotEqual(self.window(), before)
        self.assertEqual(self.window(), whole)

    def test_dragging_with_shift_pans(self):
        whole, shift = self.window(), 8
        self.page.drag(self.at(0.4), self.at(0.6))
        before = self.window()
        self.page.drag(self.at(0.2), self.at(0.7), modifiers=shift)
        after = self.window()
        self.assertAlmostEqual(after[2], before[2], delta=1e-6 * whole[2])
        self.assertAlmostEqual(after[0], before[0] - 0.5 * before[2], delta=0.02 * before[2])
        for _ in range(4):
            self.page.drag(self.at(0.1), self.at(0.9), modifiers=shift)
        self.assertEqual(self.window()[0], 0)  # not beyond the run

    def test_a_click_zooms_nowhere_and_shows_the_values(self):
        whole = self.window()
        self.page.click(*self.at(0.5))
        self.assertEqual(self.window(), whole)
        self.assertIn("allocated: ", self.page.evaluate("document.querySelector('.tip').textContent"))

    def test_a_tap_shows_the_values_and_leaves_them(self):
        whole = self.window()
        self.page.call("Emulation.setTouchEmulationEnabled", enabled=True)
        x, y = self.at(0.5)
        self.page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.assertIn("allocated: ", self.page.evaluate(self.TIP))
        self.assertEqual(self.window(), whole)

    def test_arrow_keys_walk_from_value_to_value(self):
        self.page.evaluate("document.querySelector('.chart').focus()")

        def step_after(key):
            self.page.call("Input.dispatchKeyEvent", type="keyDown", key=key)
            return self.page.evaluate("document.querySelector('.tip p').textContent")
        self.assertEqual([step_after(key) for key in ("Home", "End", "ArrowLeft", "ArrowRight", "Home", "ArrowLeft")],
                         ["step 10, 09:12:35", "step 1240, 09:32:10", "step 1230, 09:32:00", "step 1240, 09:32:10",
                          "step 10, 09:12:35", "step 10, 09:12:35"])

    def test_a_name_hides_and_shows_its_line(self):
        shown = "[...document.querySelectorAll('.line')].filter(e => getComputedStyle(e).display !== 'none').length"
        name = "document.querySelector('[data-line=\"0\"]')"
        self.assertEqual(self.page.evaluate(shown), 2)
        for expected in (1, 2):
            self.page.evaluate(f"{name}.focus()")
            self.page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter")
            self.assertEqual(self.page.evaluate(shown), expected)
            self.assertEqual(self.page.evaluate(f"{name}.getAttribute('aria-pressed')"), str(expected == 2).lower())

    def test_the_name_of_a_hidden_line_stays_in_reach_when_the_chart_is_zoomed(self):
        name = "document.querySelector('[data-line=\"0\"]')"
        self.page.evaluate(f"{name}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
        self.assertEqual(self.page.evaluate(f"{name}.getAttribute('aria-pressed')"), "false")
        self.page.drag(self.at(0.02), self.at(0.1))
        self.assertNotIn("NaN", self.page.evaluate("document.querySelector('.plot').outerHTML"))
        chart, label = (self.page.evaluate(f"{e}.getBoundingClientRect().top") for e in ("document.querySelector('.plot')", name))
        self.assertGreater(label, chart)

    def test_a_second_axis_has_shares_of_the_capacity(self):
        ticks = "[...document.querySelectorAll('.ticks text')].map(e => e.textContent)"
        for tick in ("0", "80", "0%", "20%", "80%", "100%"):
            self.assertIn(tick, self.page.evaluate(ticks))
        self.assertEqual(self.page.evaluate("document.querySelector('.share-title').textContent"), "% of capacity")
        line, tick = (self.page.evaluate(f"(r => r.top + r.height / 2)({e}.getBoundingClientRect())") for e in (
            "document.querySelector('.plot path.limit:not(.failure)')",
            "[...document.querySelectorAll('.ticks text')].find(e => e.textContent === '100%')"))
        self.assertAlmostEqual(line, tick, delta=2)
        self.page.click(*self.at(0.999))
        self.assertIn("allocated: 77.2 GiB, 97.5% (line 156)",
                      self.page.evaluate("document.querySelector('.tip').textContent"))
        self.page.drag(self.at(0.5), self.at(0.6))
        zoomed = [int(tick[:-1]) for tick in self.page.evaluate(ticks) if tick.endswith("%")]
        self.assertTrue(zoomed and all(60 <= tick <= 75 for tick in zoomed), zoomed)

    def test_exports_and_healthy_logs_have_the_second_axis_and_the_capacity_too(self):
        fine = self.folder / "fine.log"
        fine.write_text("".join(f"step {i} max reserved {9 + (i > 2)}.00 GiB\n" for i in range(60)))
        path = self.folder / "fine.html"
        subprocess.run([BINARY, "analyze", "--capacity", "40GiB", "--output", f"html={path}", fine], check=True,
                       capture_output=True)
        for made in (self.report_on(STORIES / "gpu_two_devices.csv"), self.report_on(STORIES / "smi_export_fills_up.csv"),
                     path):
            for scripts in (True, False):
                page = self.open(made, scripts=scripts, **WIDE)
                self.assertIn("100%", page.evaluate("[...document.querySelectorAll('.ticks text')].map(e => e.textContent)"))
                self.assertEqual(page.evaluate("document.querySelectorAll('.plot path.limit').length"), 1)
                self.assertIn("capacity", page.evaluate("document.querySelector('.plot').textContent"))

    def test_the_chart_is_saved_as_a_table_and_as_pictures(self):
        self.page.evaluate("window.saved = {}; HTMLAnchorElement.prototype.click = function () {"
                           " fetchless(this.download, this.href); };"
                           "const blobs = {}, make = URL.createObjectURL;"
                           "URL.createObjectURL = (blob) => { const a = make(blob); blobs[a] = blob; return a; };"
                           "window.fetchless = async (name, a) => { window.saved[name] = [blobs[a].size,"
                           " blobs[a].type.startsWith('image/png') ? '' : await blobs[a].text()]; };")
        for name in ("CSV", "SVG", "PNG"):
            self.page.evaluate("[...document.querySelectorAll('.chart-tools button')]"
                               f".find(e => e.textContent === '{name}').click()")
        for _ in range(100):
            if self.page.evaluate("Object.keys(window.saved).length") == 3:
                break
            time.sleep(0.1)
        table = self.page.evaluate("window.saved['chart.csv'][1]").splitlines()
        self.assertEqual(table[0], '"step","reserved (GiB)","allocated (GiB)"')
        self.assertEqual(len(table), 1 + 124)
        self.assertEqual(table[-1].split(",")[2], "77.2")
        drawn = ElementTree.fromstring(self.page.evaluate("window.saved['chart.svg'][1]"))
        self.assertEqual(drawn.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertGreater(self.page.evaluate("window.saved['chart.png'][0]"), 5000)
        self.assertEqual(self.page.complaints(), [])
        self.assertEqual([r for r in self.page.requests()[1:] if not r.startswith("blob:")], [])  # of the page itself

    def test_the_refused_request_is_on_top_of_the_last_value(self):
        d = self.page.evaluate("document.querySelector('.request').getAttribute('d')")
        x, start, end = (float(number) for number in d[1:].replace("V", " ").split())
        last = self.page.evaluate("[...document.querySelectorAll('.line')].at(-1).getAttribute('d').split('L').at(-1)")
        self.assertAlmostEqual(start, float(last.split()[1]), delta=0.01)
        self.assertAlmostEqual(end - start, 192 / 1024, delta=0.01)
        self.assertEqual(x, 1230)  # counted from the first step, 10

    def test_a_run_that_goes_on_has_a_forecast_and_a_dead_one_has_none(self):
        interval = "document.querySelectorAll('.plot .interval').length"
        page = self.open(self.report_on(STORIES / "gpu_two_devices.csv"), **WIDE)
        self.assertEqual(page.evaluate(interval), 1)
        self.assertIn("forecast", page.evaluate("[...document.querySelectorAll('.stage')].map(e => e.textContent)"))
        self.assertEqual(self.page.evaluate(interval), 0)


class Surveys(InABrowser):
    def setUp(self):
        super().setUp()
        for name in ("leak", "fragmentation", "host_slurm", "handled_batch_finder"):
            (self.folder / "jobs" / name).mkdir(parents=True)
            shutil.copy(STORIES / f"{name}.log", self.folder / "jobs" / name)
        path = self.folder / "survey.html"
        subprocess.run([BINARY, "survey", "--output", f"html={path}", "jobs"], check=True, capture_output=True,
                       timeout=60, cwd=self.folder)
        self.page = self.open(path, **WIDE)

    def column(self, number):
        return self.page.evaluate("[...document.querySelectorAll('#jobs > table tbody tr')]"
                                  f".filter(e => !e.hidden).map(e => e.cells[{number}].textContent)")

    def filter(self, words):
        self.page.evaluate(f"(() => {{ const f = document.querySelector('.filter input'); f.value = {json.dumps(words)};"
                           " f.dispatchEvent(new Event('input')); })()")

    def shown(self, selector):
        return self.page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].filter(e => e.checkVisibility())"
                                  ".map(e => e.innerText.trim())")

    def test_a_filter_hides_what_is_empty_and_counts_the_folded_jobs(self):
        whole = self.shown("h2, thead, summary")
        self.filter("leak")
        self.assertEqual(self.shown("#weeks *, summary"), [])
        self.assertEqual(len(self.shown("#jobs thead")), 1)
        self.filter("handled")
        self.assertEqual(self.shown("summary"), ["1 of 1 job did not run out of memory"])
        self.assertEqual(len(self.shown("#jobs thead")), 1)  # of the folded table
        self.filter("zzz")
        self.assertEqual(self.shown("h2, thead, summary"), [])
        self.filter("")
        self.assertEqual(self.shown("h2, thead, summary"), whole)

    def test_a_phone_sorts_by_a_choice_above_the_list_and_names_each_number(self):
        self.assertEqual(self.shown(".order"), [])  # headings are in sight
        self.page = self.open(self.folder / "survey.html", **PHONE)
        self.assertEqual(self.shown("#jobs > table thead"), [])
        choice = "document.querySelector('#jobs > .order select')"
        self.assertEqual(self.page.evaluate(f"[...{choice}.options].map(o => o.text)"),
                         ["as listed"] + self.page.evaluate("[...document.querySelectorAll('#jobs > table thead th')].map(e => e.textContent)"))
        self.page.evaluate(f"{choice}.value = '7'; {choice}.dispatchEvent(new Event('change'))")
        steps = [int(step) for step in self.column(7) if step]
        self.assertGreaterEqual(len(steps), 2)
        self.assertEqual(steps, sorted(steps))
        self.page.click(*self.page.centre("#jobs > .order button"))
        self.assertEqual([int(step) for step in self.column(7) if step], sorted(steps, reverse=True))
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.stacked td')]"
                                            ".filter(e => /^[0-9]/.test(e.textContent) &&"
                                            " getComputedStyle(e, '::before').content.length < 5)"
                                            ".map(e => e.textContent)"), [])
        self.filter("zzz")
        self.assertEqual(self.shown(".order"), [])
        self.assert_quiet(self.page)

    def test_a_filter_leaves_the_rows_with_all_its_words(self):
        before = self.column(6)
        self.page.evaluate("(() => { const f = document.querySelector('.filter input'); f.value = 'LEAK memory';"
                           " f.dispatchEvent(new Event('input')); })()")
        self.assertEqual(["leak" in cause.lower() for cause in self.column(6)], [True])
        self.assertEqual(self.page.evaluate("document.querySelector('.filter [role=status]').textContent"), " 1 of 4 jobs")
        self.page.evaluate("(() => { const f = document.querySelector('.filter input'); f.value = '';"
                           " f.dispatchEvent(new Event('input')); })()")
        self.assertEqual(self.column(6), before)
        self.assert_quiet(self.page)

    def test_a_heading_sorts_its_column_and_empty_cells_come_last(self):
        heading = "[...document.querySelectorAll('#jobs > table thead th')][7]"
        for direction, reverse in (("ascending", False), ("descending", True)):
            self.page.evaluate(f"{heading}.querySelector('button').click()")
            self.assertEqual(self.page.evaluate(f"{heading}.getAttribute('aria-sort')"), direction)
            steps = self.column(7)
            known = [int(step) for step in steps if step]
            self.assertGreaterEqual(len(known), 2)
            self.assertEqual(known, sorted(known, reverse=reverse))
            self.assertEqual(steps, [str(step) for step in known] + [""] * (len(steps) - len(known)))

    def test_axe_finds_no_fault_and_nothing_is_clipped_or_covered(self):
        axe = (npm_tools.install(HERE) / "axe-core" / "axe.min.js").read_text()
        for size, dark in itertools.product((WIDE, TABLET, PHONE), (False, True)):
            with self.subTest(width=size["width"], dark=dark):
                page = self.open(self.folder / "survey.html", dark=dark, **size)
                self.assertEqual(page.evaluate(FAULTS), [])
                page.evaluate(axe + ";0")
                self.assertEqual(page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"), [])

    def test_a_log_without_a_date_has_that_of_its_file(self):
        log = self.folder / "undated" / "train.log"
        log.parent.mkdir()
        log.write_text("".join(line for line in many_ranks(2) if "rank3" in line or "step" in line))
        os.utime(log, (1741080730, 1741080730))  # 2025-03-04 09:32:10 UTC
        path = self.folder / "undated.html"
        subprocess.run([BINARY, "survey", "--output", f"html={path}", "undated"], check=True, capture_output=True,
                       cwd=self.folder)
        self.page = self.open(path, **WIDE)
        self.assertEqual(self.column(0), ["2025-03-04, date of the file"])
        self.assertIn("1 failure has the date of its file", self.page.evaluate("document.querySelector('#weeks').textContent"))

    def test_a_phone_shows_it_without_scrolling_to_the_side(self):
        page = self.open(self.folder / "survey.html", **PHONE)
        self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


class Bounds(InABrowser):
    def first_paint(self, path):
        return self.open(path).evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")

    def test_a_million_values_are_drawn_as_soon_as_a_few(self):
        usual = self.report_on(STORIES / "fragmentation.log").rename(self.folder / "usual.html")
        path = self.report_on(a_million_values())
        self.assertLess(path.stat().st_size, 200 * 1024)
        page = self.open(path)
        highest = page.evaluate("Math.max(...[...document.querySelectorAll('.line')].flatMap(e => "
                                "e.getAttribute('d').slice(1).split('L').map(p => Number(p.split(' ')[1]))))")
        self.assertGreater(highest, 50)  # the one peak of all values
        paints = [(self.first_paint(usual), self.first_paint(path)) for _ in range(5)]
        few, many = (min(times) for times in zip(*paints))
        print(f"{path.stat().st_size} bytes, first paint after {many:.0f} ms; of a short log after {few:.0f} ms")
        self.assertLess(many, 3 * few)  # it draws up to a few thousand points more, not a million
        self.assert_quiet(page)


if __name__ == "__main__":
    unittest.main()
