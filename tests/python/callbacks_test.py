"""The Python package python/oomdoctor, and oomdoctor on the lines that it prints. OOMDOCTOR_BINARY names the program.

stand_ins.py imitates PyTorch, transformers and Lightning. Where a real PyTorch is installed, log_memory() runs with it.
"""
import ast
import copy
import importlib
import importlib.util
import inspect
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "oomdoctor"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
MIB = 2**20
sys.path[:0] = [str(PACKAGE.parent), str(pathlib.Path(__file__).resolve().parent)]
import stand_ins
from stand_ins import FakeTorch, Model, OutOfMemoryError, Tensor

FAILURE = """\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 23.69 GiB of \
which 1.06 GiB is free. Process 4712 has 22.62 GiB memory in use. Of the allocated memory 21.42 GiB is \
allocated by PyTorch, and 842.10 MiB is reserved by PyTorch but unallocated.
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.torch, self.out = FakeTorch(), io.StringIO()
        patch = mock.patch.dict(sys.modules, {"torch": self.torch})
        patch.start()
        self.addCleanup(patch.stop)
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("RANK", None)
        self.package = importlib.import_module("oomdoctor.torch")
        stand_ins.forget_troubles()

    def log(self, step, **words):
        self.package.log_memory(step, file=self.out, **words)

    def lines(self):
        return self.out.getvalue().splitlines()

    def report(self, text=None):
        done = subprocess.run([BINARY, "analyze", "--format", "json", "-"], capture_output=True, text=True, timeout=60,
                              input=self.out.getvalue() if text is None else text)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def series(self, report):
        """The series by metric and phase, which is their label."""
        return {(s["metric"], s.get("label", "")): s for s in report["series"] + report.get("input_lengths", [])}


class Lines(Case):
    def test_every_part_of_a_line_is_a_series_or_a_setting(self):
        os.environ["RANK"] = "3"
        self.torch.sizes["allocated"] = 1000.5
        self.log(10, batch=Tensor(8, 1024), sequence_length=1024)
        self.torch.sizes["allocated"] = 1100.25
        self.log(20, batch=Tensor(8, 1000), sequence_length=1000)
        first = self.lines()[0]
        self.assertRegex(first, r"^\[oomdoctor\] step 10, rank 3: GPU 1 allocated 1000\.50 MiB, reserved 1500\.00 MiB, "
                         r"max allocated 1200\.25 MiB, max reserved 1600\.00 MiB, used 2259\.69 MiB of 24259\.69 MiB, "
                         r"host RSS \d+\.\d\d MiB, batch 8x1024, sequence length 1024$")
        report = self.report()
        series = self.series(report)
        expected = {"allocated": ("gauge", 1000.5, 1100.25), "reserved": ("gauge", 1500, 1500),
                    "max_allocated": ("running_maximum", 1200.25, 1200.25),
                    "max_reserved": ("running_maximum", 1600, 1600), "used": ("sampled_gauge", 2259.69, 2259.69)}
        self.assertEqual(set(series), {(name, "") for name in [*expected, "host_rss", "input_length"]})
        for metric, (kind, begin, end) in expected.items():
            with self.subTest(metric):
                found = series[metric, ""]
                self.assertEqual((found["kind"], found["unit"], found["rank"], found["device"], found["n"]),
                                 (kind, "MiB", 3, 1, 2))
                self.assertEqual((found["first_step"], found["last_step"]), (10, 20))
                self.assertAlmostEqual(found["first_value"], begin * MIB, delta=1)
                self.assertAlmostEqual(found["last_value"], end * MIB, delta=1)
        host = series["host_rss", ""]
        rss = float(re.search(r"host RSS ([\d.]+) MiB", first)[1])
        self.assertAlmostEqual(host["first_value"], rss * MIB, delta=1)
        self.assertEqual((host["rank"], host.get("device")), (3, None))
        length = series["input_length", ""]
        self.assertEqual((length["first_value"], length["last_value"], length["n"]), (1024, 1000, 2))
        self.assertEqual({s["name"]: s["value"] for s in report["settings"]},
                         {"batch_size": "8", "capacity": "24259.69 MiB"})

    def test_evaluation_is_kept_apart_and_is_no_progress(self):
        for step in (1, 2, 3):
            self.log(step)
        self.torch.sizes["allocated"] = 2000
        for batch in (1, 2):
            self.log(batch, phase="validation", batch=Tensor(64, 7))
        self.log(4, phase="train")
        self.log(4, phase="before (the) backward\npass")
        series = self.series(self.report())
        self.assertEqual({key: s["n"] for key, s in series.items() if key[0] == "allocated"},
                         {("allocated", ""): 4, ("allocated", "evaluation"): 2,
                          ("allocated", "before  the  backward pass"): 1})
        self.assertEqual(series["allocated", "evaluation"]["last_step"], 2)
        self.assertEqual(series["allocated", ""]["last_step"], 4)
        self.assertEqual(len(self.lines()), 7)

    def test_a_failure_in_an_evaluation_has_this_phase(self):
        for step in range(1, 30):
            self.log(step, batch=Tensor(8 if step < 29 else 5, 7))
        trained = self.report(self.out.getvalue() + FAILURE)["incidents"][0]
        self.assertEqual((trained.get("phase", ""), trained["step"]), ("", 29))
        for batch in range(1, 30):
            self.log(batch, phase="evaluation", batch=Tensor(8 if batch < 29 else 5, 7))
        report = self.report(self.out.getvalue() + FAILURE)
        self.assertEqual((report["incidents"][0]["phase"], report["incidents"][0]["step"]), ("evaluation", 29))
        self.assertNotIn("runs", report)

    def test_a_leak_is_found_and_a_flat_run_is_healthy(self):
        for step in range(0, 400, 10):
            self.log(step)
        self.assertEqual(self.report()["verdict"]["outcome"], "no_oom")
        self.out = io.StringIO()
        for step in range(0, 400, 10):
            self.torch.sizes["allocated"] = 9000 + 30 * step
            self.torch.sizes["reserved"] = 9200 + 30 * step
            self.torch.sizes["free"] = 24259.69 - 9800 - 30 * step
            self.log(step)
        report = self.report()
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["cause"]), ("at_risk", "leak"))
        trend = self.series(report)["allocated", ""]["trend"]
        self.assertTrue(trend["leak"])
        self.assertAlmostEqual(trend["slope"]["value"], 30 * MIB, delta=0.01 * MIB)
        forecast = self.series(report)["used", ""]["trend"]["forecast"]
        self.assertAlmostEqual(forecast["capacity_bytes"], 24259.69 * MIB, delta=1)

    def test_a_line_after_a_progress_bar_and_a_launcher_s_tag_is_read(self):
        self.log(30)
        line = self.out.getvalue()
        for before in ("  3%|3         | 31/1000 [00:10<05:00,  3.22it/s]", "[rank0]: ", "2024-05-28 07:02:44 INFO "):
            with self.subTest(before):
                found = self.series(self.report(before + line))
                self.assertEqual(set(found), {(name, "") for name in (
                    "allocated", "reserved", "max_allocated", "max_reserved", "used", "host_rss")})
                self.assertEqual(found["allocated", ""]["first_step"], 30)
                self.assertAlmostEqual(found["allocated", ""]["first_value"], 1000.5 * MIB, delta=1)

    def test_a_damaged_line_gives_the_parts_before_the_damage(self):
        for line, metrics in [
                ("step 5: GPU 0 allocated 10.50 MiB, reserved 12.", {"allocated"}),
                ("step 5: GPU 0 allocated 10.50 MiB, reserved 12.00 GiB, host RSS 1.00 MiB", {"allocated"}),
                ("step 5: GPU 0 allocated 1e305 MiB, reserved 12.00 MiB", set()),
                ("step 5: GPU 0 used 10.50 MiB of 9e99 MiB", {"used"}),
                ("step 5: GPU 99999999999 host RSS 1.00 MiB", {"host_rss"}),
                ("step 5: host RSS 2.00 MiB, batch 8xx", {"host_rss"}),
                ("step 5: batch 8x-3, host RSS 2.00 MiB", set())]:
            with self.subTest(line):
                report = self.report(f"[oomdoctor] {line}\nmore\n")
                self.assertEqual({metric for metric, _ in self.series(report)}, metrics)

    def test_without_cuda_a_line_has_host_ram_alone(self):
        self.torch.cuda.is_initialized = lambda: False
        self.log(1)
        del sys.modules["torch"]
        self.log(2)
        self.assertNotIn("torch", sys.modules)
        self.assertEqual([re.sub(r"\d+\.\d\d", "N", line) for line in self.lines()],
                         ["[oomdoctor] step 1: host RSS N MiB", "[oomdoctor] step 2: host RSS N MiB"])
        self.assertEqual(self.torch.calls, [])
        host = self.series(self.report())["host_rss", ""]
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        self.assertAlmostEqual(host["last_value"], pages * os.sysconf("SC_PAGE_SIZE"), delta=32 * MIB)

    def test_a_call_prints_at_most_one_line_and_asks_pytorch_once(self):
        for step in range(1, 21):
            self.log(step, every=5)
        self.assertEqual([int(re.search(r"step (\d+)", line)[1]) for line in self.lines()], [5, 10, 15, 20])
        self.assertEqual(self.torch.calls, ["memory_stats", "mem_get_info"] * 4)
        del self.torch.cuda.mem_get_info  # PyTorch before 1.11
        self.log(25)
        self.assertNotIn("used", self.lines()[-1])

    def test_a_phase_or_a_rank_that_is_none_is_left_out(self):
        os.environ["RANK"] = "node1"
        for phase in ("", "train", "training", "()", None):
            self.log(7, phase=phase)
        self.assertEqual({line.split(":")[0] for line in self.lines()}, {"[oomdoctor] step 7"})

    def test_the_default_stream_is_standard_error(self):
        with mock.patch("sys.stderr", io.StringIO()) as stderr:
            self.package.log_memory(1)
        self.assertIn("step 1: GPU 1", stderr.getvalue())

    def test_the_batch_of_each_kind(self):
        describe = self.package.describe_batch
        for batch, expected in [
                (None, (None, None)), ("text", (None, None)), ({}, (None, None)), ([], (None, None)),
                (Tensor(4, 3, 32, 32), ((4, 3, 32, 32), None)), ((8, 512), ((8, 512), None)),
                ([Tensor(16, 10), Tensor(16)], ((16, 10), None)), (({"x": Tensor(2, 5)}, 1), ((2, 5), None)),
                ({"labels": Tensor(8), "input_ids": Tensor(8, 77)}, ((8, 77), 77)),
                ({"meta": "a", "other": Tensor(3)}, ((3,), None)),
                ({"labels": [0, 1], "other": Tensor(3)}, ((3,), None)), ([0] * 65, (None, None))]:
            with self.subTest(batch=batch):
                self.assertEqual(describe(batch), expected)


class Snapshots(Case):
    def test_an_out_of_memory_error_leaves_a_snapshot_and_goes_on(self):
        error = OutOfMemoryError("CUDA out of memory.")
        os.environ["RANK"] = "2"
        with self.assertRaises(OutOfMemoryError) as raised, self.package.snapshot_on_oom(self.folder, file=self.out):
            raise error
        self.assertIs(raised.exception, error)
        path = self.folder / f"memory_snapshot_rank2_pid{os.getpid()}.pickle"
        self.assertEqual((len(self.torch.snapshots), list(self.folder.iterdir())), (1, [path]))
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(pickle.loads(path.read_bytes()), {"segments": []})
        self.assertEqual(self.lines(),
                         [f"[oomdoctor] memory snapshot: {path} (open it at https://pytorch.org/memory_viz)"])

    def test_the_snapshot_is_next_to_the_log(self):
        with open(self.folder / "train.log", "w+", encoding="utf-8") as log:
            path = self.package.save_snapshot(file=log)
        self.assertEqual(pathlib.Path(path).parent, self.folder)

    def test_a_snapshot_replaces_an_earlier_one_of_this_process_and_no_other_file(self):
        name = f"memory_snapshot_rank0_pid{os.getpid()}"
        others = {self.folder / f"{name}.pickle": "of an earlier process", self.folder / "elsewhere": "of the user"}
        for path, text in others.items():
            path.write_text(text)
        (self.folder / f"{name}_2.pickle").symlink_to(self.folder / "elsewhere")
        made = {self.package.save_snapshot(self.folder, file=self.out) for _ in range(3)}
        self.assertEqual(made, {str(self.folder / f"{name}_3.pickle")})
        self.assertEqual({path: path.read_text() for path in others}, others)
        self.assertEqual(len(list(self.folder.iterdir())), 4)

    def test_other_errors_leave_no_snapshot(self):
        for error in (ValueError("no"), RuntimeError("shape mismatch"), KeyboardInterrupt()):
            with self.assertRaises(type(error)), self.package.snapshot_on_oom(self.folder, file=self.out):
                raise error
        self.assertEqual((self.torch.snapshots, self.lines()), ([], []))
        self.assertTrue(self.package.is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")))

    def test_a_snapshot_that_fails_hides_no_error(self):
        self.torch.history = False
        with self.assertRaises(OutOfMemoryError), self.package.snapshot_on_oom(self.folder, file=self.out):
            raise OutOfMemoryError("CUDA out of memory.")
        self.assertIn("_record_memory_history(max_entries=100000)", self.lines()[0])
        self.assertEqual(len(self.lines()), 1)
        self.torch.history, self.torch.snapshots = True, None
        with self.assertRaises(OutOfMemoryError), self.package.snapshot_on_oom(self.folder, file=self.out):
            raise OutOfMemoryError("CUDA out of memory.")
        line = inspect.getsource(stand_ins).split("ENOSPC")[0].count("\n") + 1
        self.assertEqual(self.lines()[1:], ["[oomdoctor] cannot save a memory snapshot: OSError ENOSPC in line "
                                             f"{line} of stand_ins.py (printed once)"])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_oomdoctor_takes_these_lines_for_no_failure(self):
        self.package.save_snapshot(self.folder, file=self.out)
        self.torch.history = False
        self.package.save_snapshot(self.folder, file=self.out)
        self.log(1)
        report = self.report()
        self.assertEqual((report["verdict"]["outcome"], report["incidents"]), ("no_oom", []))


class HuggingFace(Case):
    def setUp(self):
        super().setUp()
        self.hf = stand_ins.import_with("oomdoctor.hf", "transformers", "TrainerCallback")
        self.args, self.model = types.SimpleNamespace(torch_compile=False), Model()
        self.state = types.SimpleNamespace(global_step=0)
        self.callback = self.hf.MemoryCallback(every=2, file=self.out)

    def event(self, name, **words):
        """Calls a hook as the Trainer does: three positional arguments, the rest by name."""
        hook = getattr(self.callback, name)
        self.assertIsNone(hook(self.args, self.state, types.SimpleNamespace(), model=self.model, processing_class=None,
                               optimizer=None, lr_scheduler=None, train_dataloader=None, eval_dataloader=None, **words))

    def train(self, steps, lengths=(128, 512)):
        for self.state.global_step in range(steps):
            self.event("on_step_begin")
            self.state.global_step += 1
            self.model(input_ids=Tensor(4, lengths[self.state.global_step % len(lengths)]), labels=Tensor(4, 1))
            self.event("on_step_end")

    def test_a_training_with_an_evaluation(self):
        self.event("on_train_begin")
        self.train(6)
        for length in (900, 300, 200, 100, 50):
            self.model(input_ids=Tensor(16, length))
            self.event("on_prediction_step")
        self.event("on_evaluate", metrics={})
        self.event("on_step_end")
        self.event("on_train_end")
        self.assertEqual(self.model.hooks, [])
        heads = [re.sub(r": GPU.*MiB", "", line[len("[oomdoctor] "):]) for line in self.lines()]
        self.assertEqual(heads, [
            "step 0 (before training)", "step 1: batch 4x512, sequence length 512",
            "step 2, batch 4x512, sequence length 512", "step 4, batch 4x512, sequence length 512",
            "step 6, batch 4x512, sequence length 512",
            "step 2 (evaluation), batch 16x900, sequence length 900",
            "step 4 (evaluation), batch 16x200, sequence length 200", "step 6"])
        series = self.series(self.report())
        self.assertEqual(series["allocated", ""]["n"], 4)
        self.assertEqual(series["input_length", "evaluation"]["max_value"], 900)

    def test_the_batch_that_does_not_fit_is_in_the_log(self):
        self.event("on_train_begin")
        self.train(60, lengths=(120, 128))
        self.event("on_step_begin")
        self.model(input_ids=Tensor(4, 4000))
        self.assertEqual(self.lines()[-1], "[oomdoctor] step 61: batch 4x4000, sequence length 4000")
        report = self.report(self.out.getvalue() + FAILURE)
        self.assertEqual((report["incidents"][0]["step"], report["verdict"]["cause"]), (61, "input_spike"))

    def test_an_evaluation_without_a_training_leaves_no_hook(self):
        for call in ("on_evaluate", "on_predict"):
            self.event("on_prediction_step")
            self.model(input_ids=Tensor(2, 9))
            self.event("on_prediction_step")
            self.assertEqual(len(self.model.hooks), 1)
            self.event(call, metrics={})
            self.assertEqual(self.model.hooks, [])
        self.assertTrue(all(line.endswith("sequence length 9") for line in self.lines()))
        self.assertEqual(len(self.lines()), 2)

    def test_a_training_after_a_failed_one_watches_its_own_model(self):
        self.event("on_train_begin")
        self.event("on_step_begin")
        failed, self.model = self.model, Model()
        self.event("on_train_begin")
        self.assertEqual((len(failed.hooks), len(self.model.hooks)), (0, 1))
        self.train(1)
        self.assertTrue(self.lines()[-1].endswith("step 1: batch 4x512, sequence length 512"))

    def test_without_shapes_there_is_no_hook(self):
        self.args.torch_compile = True
        self.event("on_train_begin")
        self.args.torch_compile, self.callback.shapes = False, False
        self.event("on_train_begin")
        self.assertEqual(self.model.hooks, [])
        self.callback.shapes = True
        self.model.register_forward_pre_hook = lambda hook: self.fail("PyTorch 1 does not know with_kwargs")
        self.event("on_train_begin")
        self.train(2)
        self.assertTrue(self.lines()[-1].endswith(" MiB"))

    def test_a_copy_of_the_model_copies_no_stream(self):
        self.callback.file = open(os.devnull, "w", encoding="utf-8")
        self.addCleanup(self.callback.file.close)
        self.event("on_train_begin")
        self.assertIsNone(copy.deepcopy(self.callback).file)
        self.model(input_ids=Tensor(4, 8))
        copied = copy.deepcopy(self.model.hooks[0])
        copied(self.model, (), {"input_ids": Tensor(20, 30)})
        self.assertIsNone(copied.report)
        self.assertEqual(self.callback.evaluated.shape, (4, 8))


class Lightning(Case):
    name = "lightning.pytorch"

    def setUp(self):
        super().setUp()
        self.lightning = stand_ins.import_with("oomdoctor.lightning", self.name, "Callback")
        self.assertEqual(self.lightning.Callback.__module__, self.name)
        self.trainer, self.module = types.SimpleNamespace(global_step=0), object()
        self.callback = self.lightning.MemoryCallback(every=2, folder=self.folder, file=self.out)

    def test_training_with_accumulated_gradients_validation_and_test(self):
        self.callback.on_train_start(self.trainer, self.module)
        for batch_idx, length in enumerate((100, 100, 90, 80, 70, 300, 200, 100)):  # two batches per step
            batch = {"input_ids": Tensor(4, length)}
            self.callback.on_train_batch_start(self.trainer, self.module, batch, batch_idx)
            self.trainer.global_step = (batch_idx + 1) // 2
            self.callback.on_train_batch_end(self.trainer, self.module, None, batch, batch_idx)
        for batch_idx in range(4):
            self.callback.on_validation_batch_end(self.trainer, self.module, None, [Tensor(8, 3), Tensor(8)], batch_idx)
            self.callback.on_test_batch_end(self.trainer, self.module, None, Tensor(8, 3), batch_idx, 1)
            self.callback.on_predict_batch_end(self.trainer, self.module, None, Tensor(8, 3), batch_idx, 0)
        heads = [re.sub(r": GPU.*MiB", "", line[len("[oomdoctor] "):]) for line in self.lines()]
        self.assertEqual(heads, ["step 0 (before training)", "step 1: batch 4x100, sequence length 100",
                                 "step 2, batch 4x80, sequence length 80", "step 3: batch 4x300, sequence length 300",
                                 "step 4, batch 4x100, sequence length 100"]
                         + ["step 2 (evaluation), batch 8x3"] * 3 + ["step 4 (evaluation), batch 8x3"] * 3)
        series = self.series(self.report())
        self.assertEqual((series["allocated", ""]["n"], series["allocated", ""]["last_step"]), (2, 4))
        self.assertEqual(series["allocated", "evaluation"]["last_step"], 4)

    def test_an_exception(self):
        self.callback.on_exception(self.trainer, self.module, ValueError("no"))
        self.assertEqual(self.torch.snapshots, [])
        self.callback.on_exception(self.trainer, self.module, OutOfMemoryError("CUDA out of memory."))
        self.assertEqual(len(list(self.folder.glob("memory_snapshot_*.pickle"))), 1)

    def test_the_hooks_of_old_versions_have_more_arguments(self):
        self.trainer.global_step = 2
        self.callback.on_train_batch_end(self.trainer, self.module, None, Tensor(8, 3), 1, 0)
        self.assertEqual(len(self.lines()), 1)


class PytorchLightning(Lightning):
    name = "pytorch_lightning"


class Package(unittest.TestCase):
    def test_the_samples_have_the_printed_form(self):
        size, count = r"\d+\.\d\d MiB", r"\d+"
        device = rf"GPU \d allocated {size}, reserved {size}, max allocated {size}, max reserved {size}, " \
                 rf"used {size} of {size}"
        batch = rf"batch {count}(x{count})*(, sequence length {count})?"
        form = re.compile(rf"\[oomdoctor\] step {count}( \([a-z ]+\))?(, rank {count})?: "
                          rf"(({device}, )?host RSS {size}(, {batch})?|{batch})$")
        printed = [line for path in sorted((ROOT / "samples" / "callbacks").glob("*.log"))
                   for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("[oomdoctor] step ")]
        self.assertGreater(len(printed), 20)
        for line in printed:
            self.assertRegex(line, form)

    def test_the_modules_need_python_3_8_and_the_standard_library(self):
        for path in sorted(PACKAGE.glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
            names = {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            names |= {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import)
                      for alias in node.names}
            own = {"hf": {"transformers"}, "lightning": {"lightning", "pytorch_lightning"},
                   "pytest": {"pytest"}}.get(path.stem, set())
            self.assertLessEqual(names - own - {"oomdoctor"}, sys.stdlib_module_names, path.name)

    def test_importing_the_package_imports_nothing_else(self):
        script = ("import sys, oomdoctor; print([name for name in sys.modules if name.startswith('oomdoctor.')])\n"
                  "import oomdoctor.torch; oomdoctor.install(snapshot=True); oomdoctor.analyze, oomdoctor.Report\n"
                  "print({'torch', 'IPython', 'pytest'} & set(sys.modules))")
        done = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("[]\nset()\n", ""))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_log_memory_with_the_installed_pytorch(self):
        script = ("import torch; from oomdoctor.torch import log_memory\n"
                  "for step in (1, 2): log_memory(step, batch={'input_ids': torch.zeros(4, 77)})")
        done = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^\[oomdoctor\] step \d: host RSS \d+\.\d\d MiB, batch 4x77, sequence length 77$")


if __name__ == "__main__":
    unittest.main()
