"""The HTML report in a browser: what is in sight, that nothing of a log acts, that nothing is loaded, and that it can
be read without scripts, without styles, and on paper. OOMDOCTOR_BINARY names the program; needs Chromium.
"""

import functools
import http.server
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import unittest

from browser import Browser

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
STORIES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "stories"
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
    def test_the_verdict_and_the_first_fix_are_in_sight_without_scrolling(self):
        for story in ("leak", "fragmentation"):
            page = self.open(self.report_on(STORIES / f"{story}.log"))
            self.assertEqual(page.evaluate("document.querySelector('.outcome').textContent"), "OUT OF MEMORY")
            self.assert_in_first_view(page, ".verdict h1")
            self.assert_in_first_view(page, ".verdict .setting pre")
            self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
            self.assert_quiet(page)

    def test_a_narrow_window_scrolls_in_one_direction_only(self):
        page = self.open(self.report_on(STORIES / "leak.log"), width=400)
        self.assertFalse(page.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def test_a_healthy_log_has_a_page_too(self):
        page = self.open(self.report_on(f"step {i} allocated {9 + (i > 2)}.00 GiB\n" for i in range(60)))
        self.assertEqual(page.evaluate("document.querySelector('.outcome').textContent"), "NO SIGN OF MEMORY FAILURE")
        self.assertEqual(page.evaluate("document.querySelectorAll('.chart').length"), 1)
        self.assert_quiet(page)

    def test_an_empty_log_has_a_page_too(self):
        page = self.open(self.report_on(["\n"]))
        self.assertEqual(page.evaluate("document.querySelector('.outcome').textContent"), "NOTHING RECOGNISED")
        self.assert_quiet(page)

    def test_of_many_ranks_the_failed_one_is_first_and_the_others_are_behind(self):
        path = self.report_on(many_ranks())
        page = self.open(path)
        self.assertEqual(page.evaluate("document.querySelector('#ranks tbody td').textContent"), "3")
        self.assertEqual(page.evaluate("document.querySelectorAll('#ranks tbody tr').length"), 64)
        lines = page.evaluate("JSON.parse(document.getElementById('plots').textContent)[0].lines.map(l => l.faint)")
        self.assertEqual((lines.count(True), lines.count(False)), (63, 2))
        self.assertLess(path.stat().st_size, 400 * 1024)
        self.assert_quiet(page)

    def test_the_account_balances(self):
        page = self.open(self.report_on(STORIES / "fragmentation.log"))
        rows = page.evaluate("[...document.querySelectorAll('#account tr')].slice(1)"
                             ".map(r => Math.round(100 * r.children[2].textContent))")
        self.assertEqual(sum(rows[:-1]), rows[-1])


class Safety(InABrowser):
    def test_text_of_the_log_stays_text(self):
        page = self.open(self.report_on([HOSTILE]))
        self.assertEqual(page.evaluate("String(window.pwned)"), "undefined")
        acting = "document.querySelectorAll('img, iframe, object, embed, link, base, form').length"
        self.assertEqual(page.evaluate(acting), 0)
        self.assertLessEqual(page.evaluate("document.scripts.length"), 3)
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
        page = self.open(self.report_on(STORIES / "leak.log"), scripts=False)
        self.assertGreater(page.evaluate(self.SIZE), 200)
        self.assertEqual(page.evaluate("document.querySelectorAll('.uplot, .copy').length"), 0)
        self.assert_quiet(page)

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
        self.assertEqual(page.evaluate("document.querySelectorAll('.uplot').length"), 0)
        self.assert_in_first_view(page, ".verdict h1")

    def test_on_paper_everything_is_unfolded(self):
        page = self.open(self.report_on(STORIES / "leak.log"))
        page.call("Emulation.setEmulatedMedia", media="print")
        self.assertGreater(page.evaluate(self.SIZE), 200)
        self.assertEqual(page.evaluate("document.querySelectorAll('details:not([open])').length > 0"), True)
        hidden = ("[...document.querySelectorAll('details:not([open]) > :not(summary)')]"
                  ".filter(e => e.getBoundingClientRect().height === 0 && e.textContent.trim()).length")
        self.assertEqual(page.evaluate(hidden), 0)
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('.copy')).display"), "none")

    def test_dark_where_the_reader_likes_it(self):
        path = self.report_on(STORIES / "leak.log")
        paper = [self.open(path, dark=dark).evaluate("getComputedStyle(document.body).backgroundColor")
                 for dark in (False, True)]
        self.assertEqual(paper, ["rgb(255, 255, 255)", "rgb(20, 23, 28)"])


class Charts(InABrowser):
    def setUp(self):
        super().setUp()
        self.page = self.open(self.report_on(STORIES / "fragmentation.log"))
        if not self.page.evaluate("typeof uPlot === 'function'"):
            self.skipTest("the program was built without OOMDOCTOR_PAGE_ZOOM")

    def legend(self):
        return self.page.evaluate("[...document.querySelectorAll('.u-legend .u-series:not(.quiet) th')]"
                                  ".map(e => e.textContent)")

    def test_every_series_is_in_the_legend_and_can_be_hidden(self):
        self.assertEqual(self.legend(), ["step", "allocated", "reserved", "fit"])
        off = "document.querySelectorAll('.u-legend .u-off').length"
        self.page.evaluate("document.querySelectorAll('.u-legend .u-series th')[1].click()")
        self.assertEqual(self.page.evaluate(off), 1)

    def test_dragging_zooms(self):
        box = self.page.evaluate("(() => { const e = document.querySelector('.u-over');"
                                 "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                                 "return [r.left, r.top, r.width, r.height]; })()")
        ticks = "[...document.querySelectorAll('.u-legend .u-value')].map(e => e.textContent)"
        left, top, width, height = box

        def mouse(kind, share, **more):
            self.page.call("Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + height / 2, **more)

        def step_at(share):
            mouse("mouseMoved", share)
            return float(self.page.evaluate(ticks)[0] or "nan")

        before = step_at(0.05)
        mouse("mousePressed", 0.5, button="left", clickCount=1)
        mouse("mouseMoved", 0.8, button="left", buttons=1)
        mouse("mouseReleased", 0.8, button="left", clickCount=1)
        self.assertGreater(step_at(0.05), before + 10)


class Bounds(InABrowser):
    def first_paint(self, path):
        return self.open(path).evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")

    def test_a_million_values_are_drawn_as_soon_as_a_few(self):
        usual = self.report_on(STORIES / "fragmentation.log").rename(self.folder / "usual.html")
        path = self.report_on(a_million_values())
        self.assertLess(path.stat().st_size, 200 * 1024)
        page = self.open(path)
        highest = page.evaluate("Math.max(...JSON.parse(document.getElementById('plots').textContent)[0]"
                                ".lines.map(l => Math.max(...l.y)))")
        self.assertGreater(highest, 50)  # the one peak of all values
        paints = [(self.first_paint(usual), self.first_paint(path)) for _ in range(5)]
        few, many = (min(times) for times in zip(*paints))
        print(f"{path.stat().st_size} bytes, first paint after {many:.0f} ms; of a short log after {few:.0f} ms")
        self.assertLess(many, 3 * few)  # it draws up to a few thousand points more, not a million
        self.assert_quiet(page)


if __name__ == "__main__":
    unittest.main()
