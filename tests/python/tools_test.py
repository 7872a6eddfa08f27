"""oomdoctor in IPython and pytest, with faults of the program. OOMDOCTOR_BINARY names it.

The tests are skipped where no Python of this machine has IPython or pytest.
"""
import functools
import json
import re
import textwrap
import unittest

from cases import REPORT, SAMPLES, SCRIPT, Case, needs, python_with


@needs("IPython")
class Notebook(Case):
    def cells(self, *cells, **options):
        """Runs cells in IPython; [its success, its result] of each are the last line of the output."""
        python = python_with(*options.pop("modules", ["IPython"]))
        script = ("import injection, functools, json, oomdoctor.hooks, oomdoctor.notebook\n"
                  "from IPython.core.interactiveshell import InteractiveShell\n"
                  "oomdoctor.hooks.REPORT_TIMEOUT = 2\n"
                  "oomdoctor.notebook.analyze = functools.partial(oomdoctor.analyze, timeout=2)\nshell = InteractiveShell.instance(colors='NoColor')\n"
                  f"done = [shell.run_cell(cell) for cell in {[SCRIPT, *cells]!r}]\n"
                  "print(json.dumps([[one.success, repr(one.result)] for one in done[1:]]))")
        done = self.run_python("-c", script, python=python, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done

    def test_the_report_follows_the_traceback_of_a_cell(self):
        for start in ("%load_ext oomdoctor", "import oomdoctor; oomdoctor.install()"):
            ends, done = self.cells(start, start, "forward(3)", "1 + 1", "1 / 0")
            self.assertEqual(ends[2:], [[False, "None"], [True, "2"], [False, "None"]])
            self.assert_reported(done, status=0)
            self.assertLess(done.stdout.index("Traceback"), done.stdout.index("ZeroDivisionError"))

    def test_the_tensors_of_a_cell_are_free(self):
        ends, _ = self.cells("%load_ext oomdoctor", "import weakref\nclass Tensor: pass\ndef step():\n    global seen\n"
                             "    tensor = Tensor(); seen = weakref.ref(tensor)\n    forward(3)", "step()", "seen() is None")
        self.assertEqual(ends[-1], [True, "True"])

    @needs("IPython", "torch")
    def test_pytorch(self):
        ends, done = self.cells("%load_ext oomdoctor", "import torch, weakref\ndef step():\n    global seen\n    kept = torch.ones(2**20)\n"
                                "    seen = weakref.ref(kept)\n    torch.empty(2**50, dtype=torch.uint8)", "step()", "seen() is None",
                                modules=["IPython", "torch"])
        self.assertEqual(ends[2:], [[False, "None"], [True, "True"]], done.stderr)
        self.assert_reported(done, status=0)

    def test_magics(self):
        ends, done = self.cells("%load_ext oomdoctor", f"%oomdoctor {SAMPLES / 'stories' / 'leak.log'}", "%oomdoctor missing.log",
                                "%oomdoctor", "%%oomdoctor\nx = 5\nx", "x", "%%oomdoctor\nforward(3)", "%unload_ext oomdoctor",
                                "forward(3)")
        self.assertIn("cause leak", ends[1][1])
        self.assertEqual(ends[5], [True, "5"])
        self.assertFalse(ends[6][0])
        self.assert_reported(done, status=0)
        self.assertRegex(done.stderr, r"\[oomdoctor\] cell: host RSS \S+ MiB → \S+ MiB\n")

    def test_every_fault_of_the_program(self):
        for fault in ("missing", "hanging", "crashing", "printing garbage"):
            with self.subTest(fault):
                ends, done = self.cells("%load_ext oomdoctor", "forward(3)", "%oomdoctor a.log", "1", program=self.faulty(fault))
                self.assertEqual([end[0] for end in ends], [True, False, True, True])
                self.assertNotIn("GARBAGE", done.stderr.replace("GARBAGE'", ""))
                self.assertNotIn("Traceback", done.stderr)

    def test_an_exception_in_any_function_of_the_package(self):
        run = functools.partial(self.cells, "%load_ext oomdoctor", "forward(3)", "%%oomdoctor\nx = 5\nx", "x")
        for function, (ends, done) in self.injections(run, "notebook.py"):
            with self.subTest(function):
                self.assertEqual(ends[1:], [[False, "None"], [True, "None"], [True, "5"]])
                self.assertNotIn("INJECTED", done.stderr)


@needs("pytest")
class Plugin(Case):
    """pytest -p oomdoctor.pytest."""

    def run_tests(self, text, *words, **options):
        (self.folder / "test_it.py").write_text("import pytest\nkept = []\n" + SCRIPT + textwrap.dedent(text))
        (self.folder / "pytest.ini").write_text("[pytest]\n")
        python = python_with(*options.pop("modules", ["pytest"]))
        done = self.run_python("-m", "pytest", "-p", "no:cacheprovider", "-p", "oomdoctor.pytest", "--strict-markers", "-rA",
                               *words, "test_it.py", python=python, **options)
        ends = re.findall(r"^(PASSED|FAILED|XFAIL|ERROR) test_it\.py::(\S+)", done.stdout, re.M)
        return {name: end for end, name in ends}, done

    def test_limits(self):
        ends, done = self.run_tests("""
            @pytest.mark.memory_limit("8 GiB")
            def test_below(): pass
            @pytest.mark.memory_limit("60MB")
            def test_above(): bytearray(100 * 2**20)
            @pytest.mark.memory_limit(1)
            @pytest.mark.xfail
            def test_expected(): pass
            @pytest.mark.memory_limit("2 GiB", device=0)
            def test_without_gpu(): pass
            @pytest.mark.memory_limit("much")
            def test_no_size(): pass
            @pytest.mark.memory_limit()
            def test_nothing(): pass
            """)
        self.assertEqual(ends, {"test_below": "PASSED", "test_above": "FAILED", "test_expected": "XFAIL",
                                "test_without_gpu": "PASSED", "test_no_size": "FAILED", "test_nothing": "FAILED"})
        self.assertRegex(done.stdout, r"peak memory of the test: \S+ MiB, RSS of the process, above its limit of 57\.22 MiB")
        self.assertIn("""memory_limit: 'much' is not a size, such as "2 GiB\"""", done.stdout)
        self.assertIn("oomdoctor: memory not checked in 1 test: PyTorch used no GPU", done.stdout)

    def test_limits_of_a_gpu(self):
        ends, done = self.run_tests("""
            import stand_ins, sys
            torch = sys.modules["torch"] = stand_ins.FakeTorch()
            torch.peaks = {}
            torch.cuda.reset_peak_memory_stats = lambda device: torch.peaks.update({device: 0})
            torch.cuda.max_memory_allocated = lambda device: torch.peaks[device]
            torch.cuda.memory_allocated = lambda device: len(kept) * 512
            @pytest.mark.memory_limit("2 GiB", device=0)
            def test_below(): torch.peaks[0] = 2**31
            @pytest.mark.memory_limit("2 GiB", device=0)
            def test_above(): torch.peaks[0] = 2**31 + 2**29
            @pytest.mark.memory_leak(device=0)
            def test_leak(): kept.append(1)
            @pytest.mark.memory_leak(device=0)
            def test_cache():
                if len(kept) < 8: kept.append(1)
            """)
        self.assertEqual(ends, {"test_below": "PASSED", "test_above": "FAILED", "test_leak": "FAILED", "test_cache": "PASSED"})
        self.assertIn("peak memory of the test: 2.50 GiB, tensors on GPU 0, above its limit of 2.00 GiB", done.stdout)

    @needs("pytest", "torch")
    def test_pytorch(self):
        ends, done = self.run_tests("""
            import torch
            @pytest.mark.memory_limit("2 GiB")
            def test_below(): torch.ones(2**20)
            @pytest.mark.memory_limit("500 MiB")
            def test_above(): torch.ones(2**27)
            @pytest.mark.memory_limit("2 GiB", device=0)
            def test_without_gpu(): torch.ones(1)
            @pytest.mark.memory_leak
            def test_leak(): kept.append(torch.ones(2**20))
            @pytest.mark.memory_leak
            def test_none(): torch.ones(2**20)
            def test_fails(): torch.empty(2**50, dtype=torch.uint8)
            """, modules=["pytest", "torch"])
        self.assertEqual(ends, {"test_below": "PASSED", "test_above": "FAILED", "test_without_gpu": "PASSED", "test_leak": "FAILED",
                                "test_none": "PASSED", "test_fails": "FAILED"}, done.stdout)
        self.assertRegex(done.stdout, r"memory leak: each of 5 repeats keeps memory, 4\.\d\d MiB on average")
        self.assertEqual(len(re.findall(rf"^{REPORT}  ", done.stdout, re.M)), 1, done.stdout)

    def test_leaks(self):
        ends, done = self.run_tests("""
            import unittest
            @pytest.mark.memory_leak(repeats=3)
            def test_leak(tmp_path): kept.append(bytearray(b"x" * 2**22))
            @pytest.mark.memory_leak
            def test_none(): bytearray(b"x" * 2**22)
            @pytest.mark.memory_leak
            def test_fails_later(n=[]): n.append(1); assert len(n) < 3
            @pytest.mark.memory_leak
            async def test_coroutine(): pass
            class TestClass:
                @pytest.mark.memory_leak(repeats=3)
                def test_method(self): kept.append(bytearray(b"x" * 2**22))
            class Unit(unittest.TestCase):
                @pytest.mark.memory_leak(repeats=3, least="1 GiB")
                def test_unit(self): kept.append(bytearray(b"x" * 2**22))
            """, "-k", "not coroutine")
        self.assertEqual(ends, {"test_leak": "FAILED", "test_none": "PASSED", "test_fails_later": "FAILED",
                                "TestClass::test_method": "FAILED", "Unit::test_unit": "PASSED"}, done.stdout)
        self.assertRegex(done.stdout, r"memory leak: each of 3 repeats keeps memory, 4\.\d\d MiB on average")

    def test_a_test_that_ran_out_of_memory_has_the_report(self):
        ends, done = self.run_tests("""
            import weakref
            class Tensor: pass
            def step():
                global seen
                tensor = Tensor(); seen = weakref.ref(tensor)
                forward(3)
            def test_fails(): step()
            def test_free(): assert seen() is None
            def test_other(): assert 1 == 2, "memory"
            """)
        self.assertEqual(ends, {"test_fails": "FAILED", "test_free": "PASSED", "test_other": "FAILED"})
        self.assertEqual(len(re.findall(rf"^{REPORT}  ", done.stdout, re.M)), 1, done.stdout)

    def test_an_exception_in_any_function_of_the_plugin(self):
        run = functools.partial(self.run_tests, """
            import injection
            def test_fails(): forward(3)
            @pytest.mark.memory_limit("8 GiB")
            def test_limit(): pass
            @pytest.mark.memory_leak(repeats=2)
            def test_leak(tmp_path): pass
            """)
        for function, (ends, done) in self.injections(run, "pytest.py"):
            with self.subTest(function):
                self.assertEqual(ends, {"test_fails": "FAILED", "test_limit": "PASSED", "test_leak": "PASSED"}, done.stdout)
                self.assertNotIn("INJECTED", done.stdout + done.stderr)

    def test_every_fault_of_the_program(self):
        for fault in ("missing", "crashing", "printing garbage", "printing nothing", "failing"):
            ends, done = self.run_tests("def test_fails(): forward(3)\ndef test_other(): pass", program=self.faulty(fault))
            self.assertEqual(ends, {"test_fails": "FAILED", "test_other": "PASSED"})
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("INTERNALERROR", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
