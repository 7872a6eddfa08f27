"""No trouble of the package python/oomdoctor reaches the training: a table of troubles × the places that it calls.

In each cell a training of some steps calls the package while something is wrong. The training continues to its end, and
each kind of trouble has at most one line. OOMDOCTOR_BINARY names the program, which must read no failure in the lines.
"""
import contextlib
import errno
import functools
import gc
import importlib
import io
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import weakref
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "python"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
sys.path[:0] = [str(PACKAGES), str(HERE)]
import stand_ins
from stand_ins import FakeTorch, Model, OutOfMemoryError, Tensor

import batch_troubles
import troubles

STEPS = 6
ONCE = "(printed once)"


class World:
    """A training and everything that the package can see of it. A trouble changes some of it."""

    def __init__(self, folder):
        self.folder, self.torch, self.out, self.errors = folder, FakeTorch(), io.StringIO(), io.StringIO()
        self.file, self.stderr, self.environment, self.patches = self.out, self.errors, {}, []
        self.files = contextlib.ExitStack()
        self.step, self.batch = lambda n: n, lambda n: {"input_ids": Tensor(4, 8 + n)}
        self.words, self.every, self.snapshots = {}, 1, folder
        self.error = OutOfMemoryError("CUDA out of memory.")
        self.args, self.model = types.SimpleNamespace(torch_compile=False), Model()
        self.state, self.trainer = types.SimpleNamespace(global_step=0), types.SimpleNamespace(global_step=0)
        self.trained = 0

    def opened(self, file):
        """A file that the program closes at the end, which may not fail for text of the package."""
        return self.files.enter_context(file)

    @contextlib.contextmanager
    def entered(self):
        stand_ins.forget_troubles()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(sys.modules, {"torch": self.torch}))
            stack.enter_context(mock.patch.dict(os.environ, self.environment))
            stack.enter_context(mock.patch("sys.stderr", self.stderr))
            for patch in self.patches:
                stack.enter_context(patch)
            yield

    def lines(self):
        return (self.out.getvalue() + self.errors.getvalue()).splitlines()


# The places that a training calls, each with a whole training around it.


def own_loop(world, package):
    for n in range(STEPS):
        package.torch.log_memory(world.step(n), batch=world.batch(n), file=world.file, every=world.every, **world.words)
        world.trained += 1


def batch_lines(world, package):
    for n in range(STEPS):
        package.torch.log_batch(world.step(n), world.batch(n), file=world.file, **world.words)
        world.trained += 1


def snapshot_context(world, package):
    """The training ends with an error, which is the same as without the package."""
    caught = None
    try:
        with package.torch.snapshot_on_oom(world.snapshots, file=world.file):
            world.trained = STEPS
            raise world.error
    except Exception as error:
        caught = error
        assert (error.__context__, error.__cause__, error.__traceback__.tb_next) == (None, None, None)
    assert caught is world.error


def hugging_face(world, package):
    callback = package.hf.MemoryCallback(world.every, file=world.file)

    def event(name, **words):
        result = getattr(callback, name)(world.args, world.state, None, model=world.model, optimizer=None, **words)
        assert result is None

    event("on_train_begin")
    for n in range(STEPS):
        world.state.global_step = world.step(n)
        event("on_step_begin")
        for hook in world.model.hooks if world.model else ():
            assert hook(world.model, (world.batch(n),), {}) is None
        event("on_step_end")
        event("on_prediction_step")
        event("on_evaluate", metrics={})
        world.trained += 1
    event("on_train_end")
    event("on_predict", metrics={})


def lightning(world, package):
    callback, trainer, module = package.lightning.MemoryCallback(world.every, folder=world.snapshots,
                                                                 file=world.file), world.trainer, object()
    callback.on_train_start(trainer, module)
    for n in range(STEPS):
        assert callback.on_train_batch_start(trainer, module, world.batch(n), n) is None
        trainer.global_step = world.step(n)
        callback.on_train_batch_end(trainer, module, None, world.batch(n), n)
        for hook in (callback.on_validation_batch_end, callback.on_test_batch_end, callback.on_predict_batch_end):
            hook(trainer, module, None, world.batch(n), world.step(n), 0)
        world.trained += 1
    callback.on_exception(trainer, module, world.error)


PLACES = (own_loop, batch_lines, snapshot_context, hugging_face, lightning)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.package = types.SimpleNamespace(
            torch=importlib.import_module("oomdoctor.torch"), harmless=importlib.import_module("oomdoctor.harmless"),
            hf=stand_ins.import_with("oomdoctor.hf", "transformers", "TrainerCallback"),
            lightning=stand_ins.import_with("oomdoctor.lightning", "lightning.pytorch", "Callback"))

    def world(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        return World(pathlib.Path(folder))


class Table(Case):
    def test_every_training_continues_and_a_line_names_the_trouble_once(self):
        continued = 0
        for trouble in troubles.ALL:
            named = set()
            for place in PLACES:
                with self.subTest(trouble.__name__, place=place.__name__):
                    world = self.world()
                    trouble(world)
                    with world.entered():
                        place(world, self.package)
                    world.files.close()
                    self.assertEqual(world.trained, STEPS)
                    once = [line for line in world.lines() if ONCE in line]
                    self.assertEqual(len(set(once)), len(once), once)
                    self.assertLessEqual(len(once), 5, once)
                    named |= {place.__name__} if any(trouble.says in line for line in once) else set()
                    continued += 1
            with self.subTest(trouble.__name__):
                self.assertEqual(named, set(trouble.named))
        print(f"{len(troubles.ALL)} troubles × {len(PLACES)} places: "
              f"{continued} of {len(troubles.ALL) * len(PLACES)} trainings continued")

    def test_without_a_trouble_no_line_speaks_of_one(self):
        for place in PLACES:
            world = self.world()
            with world.entered():
                place(world, self.package)
            self.assertTrue(world.lines())
            self.assertEqual([line for line in world.lines() if ONCE in line], [])

    def test_one_part_that_fails_costs_only_itself(self):
        world = self.world()
        world.torch.mem_get_info = None
        world.torch.cuda.mem_get_info = troubles.raises(RuntimeError("CUDA error: out of memory"))
        world.batch = lambda n: {"x": batch_troubles.Unread(), "labels": Tensor(4, n)}
        with world.entered():
            own_loop(world, self.package)
        steps = [line for line in world.lines() if "] step " in line]
        self.assertEqual(len(steps), STEPS)
        for n, line in enumerate(steps):
            self.assertRegex(line, rf"^\[oomdoctor\] step {n}: GPU 1 allocated \S+ MiB, reserved \S+ MiB, "
                                   rf"max allocated \S+ MiB, max reserved \S+ MiB, host RSS \S+ MiB, batch 4x{n}$")

    def test_the_number_of_named_kinds_has_a_limit(self):
        world = self.world()
        with world.entered():
            for n in range(1000):
                with self.package.harmless.harmless(f"do {n}", world.file):
                    raise ValueError
        self.assertEqual(len(world.lines()), self.package.harmless.MAX_KINDS)


class Program(Case):
    """Exceptions of the program itself pass, and nothing of them stays."""

    def places_that_raise(self, error):
        """Worlds in which the program's own code raises while the package runs it."""
        reading = self.world()
        reading.batch = lambda n: batch_troubles.Lazy(error)
        writing = self.world()
        writing.file = types.SimpleNamespace(write=troubles.raises(error))
        asking = self.world()
        asking.torch.cuda.memory_stats = troubles.raises(error)
        return reading, writing, asking

    def test_a_request_to_end_passes(self):
        for error in (KeyboardInterrupt(), SystemExit(3), GeneratorExit()):
            for world in self.places_that_raise(error):
                for place in (own_loop, hugging_face, lightning):
                    with self.subTest(error=error, place=place), world.entered():
                        with self.assertRaises(type(error)):
                            place(world, self.package)

    def test_the_exception_of_a_signal_handler_passes(self):
        class TimeLimit(Exception):
            pass

        def function(number, frame):
            raise TimeLimit

        def any_arguments(*_):
            raise TimeLimit

        def with_a_name(name, number, frame):
            raise TimeLimit

        class Limit:
            def method(self, number, frame):
                function(number, frame)

            def __call__(self, number, frame):
                raise TimeLimit

        before = signal.getsignal(signal.SIGUSR1)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        for handler in (function, any_arguments, Limit().method, Limit(), functools.partial(with_a_name, "a"),
                        lambda number, frame: function(number, frame)):
            signal.signal(signal.SIGUSR1, handler)
            reading = self.world()
            reading.batch = lambda n: batch_troubles.Lazy(lambda: signal.raise_signal(signal.SIGUSR1))
            for place in (own_loop, batch_lines, hugging_face, lightning):
                with self.subTest(handler=handler, place=place), reading.entered():
                    self.assertRaises(TimeLimit, place, reading, self.package)

    def test_an_exception_keeps_no_batch_alive(self):
        class Batch:
            @property
            def shape(self):
                raise RuntimeError("the tensor is freed")

        gc.disable()
        self.addCleanup(gc.enable)
        world = self.world()
        batch = Batch()
        seen = weakref.ref(batch)
        with world.entered():
            self.package.torch.log_memory(1, batch=batch, file=world.file)
        del batch
        self.assertIsNone(seen())

    def test_a_large_batch_costs_a_bounded_number_of_reads(self):
        reads = []

        class Counting(dict):
            def __getitem__(self, key):
                reads.append(key)
                return super().__getitem__(key)

        wide = Counting.fromkeys(range(1000), Counting.fromkeys(range(1000), ["text"] * 1000))
        self.assertEqual(self.package.torch.describe_batch(wide, file=io.StringIO()), (None, None))
        self.assertLess(len(reads), 1000)

    def test_a_symbolic_extent_stays_unread(self):
        class Symbol:
            def __int__(self):
                raise AssertionError("a compiler would fix this extent")

            __index__ = __bool__ = __int__

        self.assertEqual(self.package.torch.describe_batch(Tensor(Symbol(), 4), file=io.StringIO()), (None, None))


class Lines(Case):
    def test_oomdoctor_reads_no_failure_in_the_lines_of_a_trouble(self):
        text = []
        harmless = self.package.harmless
        raised = [f"OSError({number}, {os.strerror(number)!r})" for number in errno.errorcode]
        raised += ["MemoryError", "KeyError('Killed')",
                   "RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')",
                   "type('OutOfMemoryError', (RuntimeError,), {})('CUDA error: out of memory')"]
        for step, (error, name) in enumerate(itertools.product(raised, (
                "train.py", "out_of_memory.py", "oom_killer.py", "cuda out of memory.py"))):
            stand_ins.forget_troubles()
            out = io.StringIO()
            with harmless.harmless("print the batch shape", out):
                exec(compile(f"raise {error}", name, "exec"))
            self.assertRegex(out.getvalue(), r"^\[oomdoctor\] cannot print the batch shape: "
                                           r"\w.* in line 1 of (train.py|another module) ")
            text.append(f"[oomdoctor] step {step}: host RSS 10.00 MiB\n{out.getvalue()}")
        done = subprocess.run([BINARY, "analyze", "--format", "json", "-"], input="".join(text), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertIn('"outcome": "no_oom"', done.stdout)
        self.assertIn('"incidents": []', done.stdout)


class Process(Case):
    """Troubles of a whole process: its streams, its end, its children."""

    def run_script(self, script, **options):
        with open(self.folder / "errors", "w+b") as errors:
            script = f"import sys; sys.path.insert(0, {str(PACKAGES)!r})\n{script}"
            done = subprocess.run([sys.executable, "-c", script],
                                  stderr=options.pop("stderr", errors), stdout=options.pop("stdout", subprocess.PIPE),
                                  cwd=self.folder, timeout=60, check=False, **options)
            errors.seek(0)
            return done.returncode, (done.stdout or b"").decode(), errors.read().decode()

    def test_a_full_disk_changes_neither_the_program_s_text_nor_its_end(self):
        with open("/dev/full", "wb", buffering=0) as full:
            for stream in ("sys.stdout", "sys.stderr", "open('/dev/full', 'w')", "open('/dev/full', 'w+')"):
                script = ("from oomdoctor.torch import log_memory\n"
                          f"stream = {stream}\n"
                          "for step in range(100): log_memory(step, batch=(8, step), file=stream)\n"
                          "if stream.name == '/dev/full': stream.close()")
                with self.subTest(stream):
                    status, _, _ = self.run_script(script, stdout=full, stderr=full)
                    self.assertEqual(status, 0)

    def test_the_program_s_own_text_keeps_its_place(self):
        status, output, errors = self.run_script(
            "from oomdoctor.torch import log_batch\n"
            "for step in range(3):\n"
            "    print('before', step)\n"
            "    log_batch(step, (8, step), file=sys.stdout)")
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(output.splitlines(), [line for step in range(3) for line in (
            f"before {step}", f"[oomdoctor] step {step}: batch 8x{step}")])

    def test_a_closed_standard_error_is_no_trouble(self):
        status, output, _ = self.run_script(
            "import os; from oomdoctor.torch import log_memory, save_snapshot\n"
            "os.close(2)\n"
            "for step in range(3): log_memory(step); save_snapshot()\n"
            "sys.stderr.close()\n"
            "for step in range(3): log_memory(step); save_snapshot()\n"
            "print('trained')")
        self.assertEqual((status, output), (0, "trained\n"))

    def test_the_end_of_the_interpreter_is_no_trouble(self):
        status, output, errors = self.run_script(
            "import atexit, builtins; from oomdoctor import torch\n"
            "class Late:\n"
            "    def __init__(self, log): self.log = log\n"
            "    def __del__(self): self.log(7, batch=(8, 9)); self.log(float('nan'))\n"
            "atexit.register(torch.log_memory, 5)\n"
            "kept = builtins.kept = Late(torch.log_memory); loop = [kept]; loop.append(loop)\n"
            "print('trained')")
        self.assertEqual((status, output), (0, "trained\n"))
        self.assertIn("step 5", errors)
        self.assertNotIn("Traceback", errors)

    def test_a_child_process_is_no_trouble(self):
        status, output, errors = self.run_script(
            "import os; from oomdoctor.torch import log_memory\n"
            "log_memory(float('nan'))\n"
            "child = os.fork()\n"
            "log_memory(float('nan')); log_memory(2)\n"
            "if child == 0: sys.exit(0)\n"
            "print(os.waitpid(child, 0)[1])")
        self.assertEqual((status, output), (0, "0\n"))
        self.assertEqual((errors.count(ONCE), errors.count("step 2")), (1, 2))

    def test_a_stack_that_is_nearly_full_is_no_trouble(self):
        status, output, errors = self.run_script(
            "from oomdoctor.torch import log_memory\n"
            "def deep(levels):\n"
            "    if levels: return deep(levels - 1)\n"
            "    log_memory(1, batch={'x': (3, 4)}, file=sys.stdout)\n"
            "for levels in range(sys.getrecursionlimit() - 40, sys.getrecursionlimit() - 4):\n"
            "    deep(levels)\n"
            "print('trained')")
        self.assertEqual(status, 0, errors)
        self.assertTrue(output.endswith("trained\n"))


if __name__ == "__main__":
    unittest.main()
