"""The report under a traceback: oomdoctor.install() and python -m oomdoctor, with each fault of the program.

OOMDOCTOR_BINARY names the program. stand_ins.py imitates PyTorch with a GPU. The test with a real PyTorch is skipped where no
Python of this machine has it.
"""
import subprocess
import sys
import textwrap
import time
import unittest

from cases import FAULTS, MESSAGE, REPORT, SAMPLES, SCRIPT, Case, needs, python_with


class Scripts(Case):
    def test_the_report_follows_the_traceback(self):
        done = self.run_script("forward(3)")
        self.assert_reported(done)
        self.assertLess(done.stderr.index("Traceback"), done.stderr.index(REPORT))
        self.assertIn("3 GiB requested at ", done.stderr)
        self.assertIn("GPU 0, 39.39 GiB: tensors 35.20 (89%)", done.stderr)

    def test_other_errors_and_ends_print_no_report(self):
        for line, status in (("raise ValueError('the memory of an elephant')", 1), ("raise SystemExit(3)", 3),
                             ("raise KeyboardInterrupt", -2), ("print('out of memory')", 0)):
            plain = self.run_python(self.script(line))
            done = self.run_script(line)
            self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout))
            self.assertEqual(done.returncode, status)
            self.assertEqual(done.stderr.splitlines()[-1:], plain.stderr.splitlines()[-1:])

    def test_what_caused_an_error_counts(self):
        self.assert_reported(self.run_script("""
            try:
                forward(3)
            except OutOfMemoryError as error:
                raise ValueError("the step failed") from error
            """))

    def test_the_lines_of_log_memory_show_the_trend(self):
        done = self.run_script("""
            from oomdoctor.harmless import write_line
            for step in range(10, 400, 10):
                write_line("step %d: GPU 0 allocated %.2f MiB, reserved %.2f MiB, used %.2f MiB of 40336.00 MiB" % (
                    step, 20000 + 40 * step, 21000 + 40 * step, 21500 + 40 * step), sys.stdout)
            forward(3)
            """.replace("            from", "            import sys\n            from", 1))
        self.assert_reported(done)
        self.assertIn("+40.0 MiB per step", done.stderr)
        self.assertIn("Memory leak", done.stderr)

    def test_the_traceback_stays_as_it_is(self):
        (self.folder / "job.py").write_text(SCRIPT + "import oomdoctor\nif install: oomdoctor.install()\nforward(3)")
        text = (self.folder / "job.py").read_text()
        ends = []
        for install in ("False", "True"):
            (self.folder / "job.py").write_text(text.replace("if install", f"if {install:5}"))
            ends.append(self.run_python("-m", "job"))
        self.assertIn("runpy", ends[0].stderr)
        self.assertTrue(ends[1].stderr.startswith(ends[0].stderr.replace("False", "True ")), ends[1].stderr)

    def test_a_thread(self):
        done = self.run_script("""
            import threading
            thread = threading.Thread(target=forward, args=(3,))
            thread.start(); thread.join()
            print("goes on")
            """)
        self.assert_reported(done, status=0)
        self.assertEqual(done.stdout, "goes on\n")

    def test_hooks_that_are_there_run_first_and_stay(self):
        done = self.run_python(self.script("""
            import sys
            def mine(kind, error, trace):
                print("mine", file=sys.stderr)
            sys.excepthook = mine
            import oomdoctor
            oomdoctor.install(); oomdoctor.install()
            forward(3)
            """))
        self.assert_reported(done)
        self.assertEqual(done.stderr.splitlines()[0], "mine")
        self.assertNotIn("Traceback", done.stderr)

    def test_a_hook_that_comes_later_and_calls_the_one_before(self):
        for again in ("", "oomdoctor.install()"):
            self.assert_reported(self.run_script(f"""
                import sys
                before = sys.excepthook
                sys.excepthook = lambda *args: before(*args)
                {again}
                forward(3)
                """))

    def test_hooks_that_call_each_other_end(self):
        done = self.run_python(self.script("""
            import sys, oomdoctor
            sys.excepthook = lambda *args: sys.excepthook(*args)
            oomdoctor.install()
            forward(3)
            """))
        self.assert_reported(done)
        self.assertIn("Traceback", done.stderr)

    def test_a_hook_that_fails(self):
        done = self.run_python(self.script("""
            import sys, oomdoctor
            def broken(*args): raise LookupError("broken hook")
            sys.excepthook = broken
            oomdoctor.install()
            forward(3)
            """))
        self.assert_reported(done)
        self.assertIn("Error in sys.excepthook", done.stderr)

    def test_uninstall(self):
        done = self.run_script("""
            import sys, threading
            oomdoctor.uninstall()
            assert sys.excepthook is sys.__excepthook__, sys.excepthook
            forward(3)
            """)
        self.assert_reported(done, times=0)

    def test_the_traceback_frees_what_its_functions_hold(self):
        for free, held in (("True", "False"), ("False", "True")):
            done = self.run_script(f"""
                import sys, weakref
                class Tensor: pass
                def step():
                    global seen
                    tensor = Tensor()
                    seen = weakref.ref(tensor)
                    forward(3)
                oomdoctor.install(free={free})
                try:
                    step()
                except OutOfMemoryError as caught:
                    error = caught
                sys.excepthook(type(error), error, error.__traceback__)
                print(seen() is not None)
                """)
            self.assert_reported(done, status=0)
            self.assertEqual(done.stdout, f"{held}\n")

    def test_a_child_process(self):
        done = self.run_script("""
            import os
            child = os.fork()
            if child == 0:
                forward(3)
            print(os.waitpid(child, 0)[1] >> 8)
            """)
        self.assert_reported(done, status=0)
        self.assertEqual(done.stdout, "1\n")

    def test_the_end_of_the_interpreter(self):
        done = self.run_script("""
            import atexit, threading, time
            class Late:
                def __del__(self, forward=forward): forward(3)
            kept = Late(); loop = [kept]; loop.append(loop)
            atexit.register(forward, 3)
            threading.Thread(target=lambda: (time.sleep(.2), forward(3))).start()
            threading.Thread(target=lambda: (time.sleep(5), forward(3)), daemon=True).start()
            """)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(REPORT, done.stderr)

    def test_a_nearly_full_stack_and_no_memory_for_a_report(self):
        done = self.run_script("""
            import resource
            def deep(levels): return deep(levels - 1) if levels else forward(3)
            try:
                deep(900)
            except OutOfMemoryError as caught:
                error = caught
            def report(levels): return report(levels - 1) if levels else oomdoctor.hooks.report_failure(error)
            import sys
            for levels in range(sys.getrecursionlimit() - 30, sys.getrecursionlimit() - 3): report(levels)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            raise MemoryError
            """)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1].startswith("[oomdoctor] no report") or REPORT in done.stderr, True)

    def test_a_full_disk_changes_neither_the_end_nor_the_output(self):
        with open("/dev/full", "wb", buffering=0) as full:
            done = self.run_script("print('trained')\nforward(3)", stderr=full)
            # Python itself may end with 120 where it cannot flush its errors.
            plain = subprocess.run([sys.executable, "-c", "print('trained')\nraise ValueError"], stderr=full,
                                   stdout=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout))
        done = self.run_script("print('trained')\nforward(3)", TMPDIR=str(self.folder / "missing"))
        self.assert_reported(done)
        done = self.run_script("import sys\nsys.stderr = None\nforward(3)")
        self.assertEqual(done.returncode, 1)

    def test_every_fault_of_the_program_is_one_line(self):
        for fault in FAULTS:
            with self.subTest(fault):
                start = time.monotonic()
                done = self.run_script("forward(3)", program=self.faulty(fault))
                self.assertLess(time.monotonic() - start, 20)
                self.assert_only_a_line(done)

    def assert_only_a_line(self, done, status=1):
        self.assertEqual(done.returncode, status, done.stderr)
        traceback, _, more = done.stderr.partition(f"OutOfMemoryError: {MESSAGE}\n")
        self.assertIn("Traceback", traceback)
        self.assertRegex(more, r"\A\[oomdoctor\] no report on this error: [^\n]+ \(printed once\)\n\Z")

    def test_an_exception_in_any_function_of_the_package(self):
        path = self.script("""
            import sys, threading
            thread = threading.Thread(target=forward, args=(3,))
            thread.start(); thread.join()
            print("goes on")
            forward(4)
            """)
        start = f"import injection, sys; from oomdoctor.__main__ import main; sys.exit(main([{str(path)!r}]))"
        plain = self.run_python(path)
        for function, done in self.injections(lambda **given: self.run_python("-c", start, **given)):
            with self.subTest(function):
                self.assertEqual((done.returncode, done.stdout), (1, plain.stdout), done.stderr)
                self.assertEqual(done.stderr.count("OutOfMemoryError: CUDA"), 2, done.stderr)
                self.assertNotIn("INJECTED", done.stderr)

    def test_without_the_program_a_line_says_so(self):
        done = self.run_script("forward(3)", program="", PATH=str(self.folder))
        self.assert_only_a_line(done)
        self.assertIn("the program oomdoctor is not installed: install its wheel", done.stderr)


class Main(Case):
    """python -m oomdoctor."""

    def test_a_script_runs_as_with_python(self):
        self.script("""
            import os, pickle, sys, multiprocessing
            class Kept: pass
            def child(): print("child", __name__ != "__main__")
            if __name__ == "__main__":
                print(sys.argv, __name__, __file__, os.path.abspath(sys._getframe().f_code.co_filename), sys.path[0] == os.path.dirname(os.path.abspath(__file__)))
                print(type(pickle.loads(pickle.dumps(Kept()))) is Kept, sys.modules["__main__"].Kept is Kept, __spec__)
                sys.stdout.flush()
                process = multiprocessing.get_context("spawn").Process(target=child)
                process.start(); process.join()
                sys.exit(5)
            """)
        plain = self.run_python("train.py", "--snapshot", "a b")
        done = self.run_python("-m", "oomdoctor", "train.py", "--snapshot", "a b")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, plain.stderr))
        self.assertEqual(plain.returncode, 5, plain.stderr)

    @unittest.skipUnless(hasattr(sys.flags, "safe_path"), "this Python has no -P")
    def test_a_safe_path_stays(self):
        path = self.script("import sys\nprint(sys.path)")
        plain = self.run_python("-P", path)
        self.assertEqual(self.run_python("-P", "-m", "oomdoctor", path).stdout, plain.stdout)
        self.assertNotIn(repr(str(self.folder)), plain.stdout)

    def test_the_traceback_is_that_of_python(self):
        path = self.script("forward(3)")
        plain = self.run_python(path).stderr
        for words in (["-m", "oomdoctor", path], ["-m", "oomdoctor", "--snapshot", path]):
            done = self.run_python(*words)
            self.assert_reported(done)
            self.assertTrue(done.stderr.startswith(plain), done.stderr)
        self.assert_reported(self.run_python("-m", "oomdoctor", "-m", "train"))

    def test_every_fault_of_the_program(self):
        plain = self.run_python(self.script("forward(3)"))
        for fault in ("missing", "crashing", "printing garbage"):
            done = self.run_python("-m", "oomdoctor", "--snapshot", self.folder / "train.py", program=self.faulty(fault))
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith(plain.stderr))
            self.assertLessEqual(len(done.stderr.splitlines()), len(plain.stderr.splitlines()) + 1)

    def test_wrong_use(self):
        self.assertEqual(self.run_python("-m", "oomdoctor").returncode, 2)
        self.assertEqual(self.run_python("-m", "oomdoctor", "--help").returncode, 0)
        done = self.run_python("-m", "oomdoctor", "missing.py")
        self.assertEqual((done.returncode, done.stderr), (2, "oomdoctor: cannot open 'missing.py': No such file or directory\n"))
        self.script("def :")
        self.assertIn("SyntaxError", self.run_python("-m", "oomdoctor", "train.py").stderr)


class Gpu(Case):
    """What the process knows of PyTorch, with a stand-in of it that the script imports."""

    TORCH = """
        import sys, stand_ins
        torch = stand_ins.FakeTorch()
        started = []
        torch.cuda.is_initialized = lambda: bool(started)
        calls = []
        torch.cuda._lazy_call = lambda call: calls.append(call)
        torch.cuda.memory._record_memory_history = lambda **words: (print("records", words), setattr(torch, "history", True))
        torch.cuda.memory_allocated = lambda: torch.size("allocated")
        torch.history = False
        def start():
            started.append(1)
            for call in calls: call()
        torch.start = start
        torch.__spec__ = __spec__
        sys.modules[__name__] = torch
        """

    def setUp(self):
        super().setUp()
        (self.folder / "torch.py").write_text(textwrap.dedent(self.TORCH))

    def test_a_history_begins_with_cuda_and_ends_in_a_snapshot(self):
        path = self.script("""
            import torch, sys
            assert not torch.cuda.is_initialized()
            torch.start()
            forward(3)
            """)
        done = self.run_python("-m", "oomdoctor", "--snapshot", path)
        self.assert_reported(done)
        self.assertEqual(done.stdout, "records {'max_entries': 100000, 'stacks': 'python'}\n")
        saved, = self.folder.glob("memory_snapshot_*.pickle")
        self.assertIn(f"[oomdoctor] memory snapshot: {saved.resolve()} ", done.stderr)
        done = self.run_python("-m", "oomdoctor", path)
        self.assert_reported(done)
        self.assertEqual((done.stdout, [*self.folder.glob("memory_snapshot_*.pickle")]), ("", [saved]))

    def test_a_torch_that_is_not_installed_is_no_trouble(self):
        path = self.script("""
            import sys
            try:
                import torch
            except ImportError as error:
                print(error)
            sys.path.insert(0, sys.argv[1])
            import torch
            torch.start()
            """)
        late = self.folder / "late"
        late.mkdir()
        (self.folder / "torch.py").rename(late / "torch.py")
        done = self.run_python("-S", "-m", "oomdoctor", "--snapshot", path, late)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "No module named 'torch'\nrecords {'max_entries': 100000, 'stacks': 'python'}\n")

    def test_a_history_that_the_script_records_shows_the_lines_of_the_tensors(self):
        done = self.run_script(f"""
            import shutil, torch
            torch.start(); torch.history = True
            torch.cuda.memory._dump_snapshot = lambda path: shutil.copyfile({str(SAMPLES / "snapshots" / "leak.pickle")!r}, path)
            forward(3)
            """)
        self.assert_reported(done)
        self.assertIn("Most memory: 378.01 MiB birdsong/train.py:55 in log_step", done.stderr)
        self.assertIn("Snapshot: the allocator's history, GPU 0, at the failure", done.stderr)
        self.assertNotIn(".pickle", done.stderr)
        self.assertEqual([*self.folder.glob("*.pickle")], [])

    def test_the_table_of_the_allocator_is_that_of_the_gpu_of_the_error(self):
        done = self.run_script("""
            import torch
            torch.start()
            torch.cuda.memory_summary = lambda device: "|  PyTorch CUDA memory summary, device ID %d  |\\n" % device + \\
                "|  Metric  | Cur Usage | Peak Usage | Tot Alloc | Tot Freed |\\n" \\
                "| Allocated memory | 35 GiB | 37 GiB | 900 GiB | 865 GiB |\\n"
            print(oomdoctor.hooks.log_of(RuntimeError("CUDA out of memory. GPU 3 has a total capacity")).decode().splitlines()[0])
            forward(3)
            """)
        self.assert_reported(done)
        self.assertEqual(done.stdout, "|  PyTorch CUDA memory summary, device ID 3  |\n")

    def test_a_driver_that_fails_costs_only_its_part(self):
        done = self.run_script("""
            import torch
            def fails(*args, **words): raise RuntimeError("CUDA error: an illegal memory access was encountered")
            torch.start(); torch.history = True
            torch.cuda.memory._dump_snapshot = torch.cuda.memory_summary = torch.cuda.memory_allocated = fails
            forward(3)
            """)
        self.assert_reported(done)
        self.assertEqual(done.stderr.count("[oomdoctor] cannot "), 3, done.stderr)

    def test_an_odd_torch_imports_as_without_a_history(self):
        for text in ("raise ImportError('no libcuda')", "cuda = None", ""):
            (self.folder / "torch.py").write_text(text)
            path = self.script("try: import torch\nexcept ImportError as error: print(error)\nprint('on')")
            plain, done = self.run_python(path), self.run_python("-m", "oomdoctor", "--snapshot", path)
            self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    @needs("torch")
    def test_pytorch(self):
        (self.folder / "torch.py").unlink()
        path = self.script("import torch\ntorch.empty(2**50, dtype=torch.uint8)")
        done = self.run_python("-m", "oomdoctor", "--snapshot", path, python=python_with("torch"))
        self.assert_reported(done)
        self.assertIn("1 PiB requested", done.stderr)


if __name__ == "__main__":
    unittest.main()
