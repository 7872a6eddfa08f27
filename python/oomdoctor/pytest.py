"""A plugin for pytest: limits of a test's memory, and leaks. `pytest -p oomdoctor.pytest`, or pytest_plugins.

    @pytest.mark.memory_limit("2 GiB", device=0)   # the peak of PyTorch's tensors on this GPU
    @pytest.mark.memory_limit("2 GiB")             # the peak of the process's RSS
    @pytest.mark.memory_leak(repeats=5, device=0)  # repeats the test; fails it if each repeat keeps memory

A test that ran out of memory gets the report of oomdoctor. What cannot be measured is not checked; the summary says so.
"""
import contextlib
import functools
import gc
import inspect
import re

import pytest

from oomdoctor import hooks
from oomdoctor.gauges import MIB, cuda_in_use, describe_bytes, read_host_bytes
from oomdoctor.harmless import harmless, recent_lines

WARM_UPS = 2  # runs that may fill caches: of the allocator, of kernels, of imports
REPEATS = 5
# Bytes per repeat. PyTorch counts its tensors exactly. The RSS moves with the blocks of malloc and with the interpreter.
LEAST_LEAK_ON_GPU, LEAST_LEAK_ON_HOST = 1, MIB // 4
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

_unchecked = pytest.StashKey()  # of the session: why limits were not checked, with the number of tests
_faults = pytest.StashKey()  # of a test: what its memory broke


def pytest_configure(config):
    config.stash[_unchecked] = {}
    config.addinivalue_line("markers", 'memory_limit(size, device=None): fails the test if its peak is above, e.g. "2 GiB"')
    config.addinivalue_line("markers", f"memory_leak(repeats={REPEATS}, device=None, least=None): runs the test several "
                                       "times and fails it if each repeat keeps memory")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    checks = []
    with harmless("measure the memory of a test"):
        recent_lines.clear()  # of earlier tests
        item.stash[_faults] = []
        for mark in item.iter_markers():
            if mark.name in CHECKS:
                try:
                    checks.append(CHECKS[mark.name](item, *mark.args, **mark.kwargs))
                except (TypeError, ValueError) as error:
                    item.stash[_faults].append("%s: %s" % (mark.name, error))
    yield
    for check in checks:
        with harmless("measure the memory of a test"):
            check.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    with harmless("report on a test"):
        report = outcome.get_result()
        faults = item.stash.get(_faults, [])
        if call.when == "call" and faults and report.passed:
            report.outcome = "skipped" if hasattr(report, "wasxfail") else "failed"  # "skipped" is an expected failure
            report.longrepr = "\n".join(faults)
        if call.excinfo is not None and report.failed:
            text = hooks.report_on(call.excinfo.value) if hooks.may_be_memory(call.excinfo.value) else ""
            if text:
                report.sections.append(("oomdoctor", text))
                if not item.config.getoption("usepdb", False):  # pytest keeps the traceback, and so its tensors
                    hooks.free_traceback(call.excinfo.value)


def pytest_terminal_summary(terminalreporter, config):
    with harmless("print the summary"):
        for why, tests in config.stash.get(_unchecked, {}).items():
            terminalreporter.write_line("oomdoctor: memory not checked in %d test%s: %s" % (
                tests, "s" * (tests != 1), why))


def size_of(text):
    """Bytes of "2 GiB", "512MB" or a number."""
    if isinstance(text, (int, float)):
        return int(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", str(text), re.IGNORECASE)
    if found is None:
        raise ValueError('%r is not a size, such as "2 GiB"' % (text,))
    number, unit, binary = found.groups()
    return int(float(number) * (UNITS if binary else DECIMAL)[unit.upper()])


class _Check:
    """One mark of a test while the test runs."""

    def __init__(self, item, device):
        self.item, self.device, self.why_not = item, device, None

    def end(self):
        if self.device is not None and cuda_in_use() is None:
            self.why_not = "PyTorch used no GPU"
        if self.why_not is None:
            fault = self.find_fault()
            if fault is not None:
                self.item.stash[_faults].append(fault)
        else:
            unchecked = self.item.config.stash[_unchecked]
            unchecked[self.why_not] = unchecked.get(self.why_not, 0) + 1


class _Limit(_Check):
    def __init__(self, item, size, device=None):
        super().__init__(item, device)
        self.most = size_of(size)
        if device is None:
            self.why_not = _reset_host_peak()
        elif cuda_in_use() is not None:  # else the first use in the test begins at 0
            cuda_in_use().reset_peak_memory_stats(device)

    def find_fault(self):
        peak = _host_peak() if self.device is None else cuda_in_use().max_memory_allocated(self.device)
        if peak <= self.most:
            return None
        what = "RSS of the process" if self.device is None else "tensors on GPU %s" % self.device
        return "peak memory of the test: %s, %s, above its limit of %s" % (
            describe_bytes(peak), what, describe_bytes(self.most))


class _LeakCheck(_Check):
    """Puts a function that repeats the test into its place. The repeats use the same fixtures."""

    def __init__(self, item, repeats=REPEATS, device=None, least=None):
        super().__init__(item, device)
        default = LEAST_LEAK_ON_HOST if device is None else LEAST_LEAK_ON_GPU
        self.repeats, self.least = int(repeats), default if least is None else size_of(least)
        self.function, self.values = item.obj, []
        if inspect.iscoroutinefunction(self.function):
            self.why_not = "it is a coroutine"
        else:
            item.obj = self.repeated()

    def repeated(self):
        @functools.wraps(self.function)
        def repeated(*args, **kwargs):
            __tracebackhide__ = True
            for number in range(1, WARM_UPS + self.repeats + 1):
                self.function(*args, **kwargs)
                if number >= WARM_UPS:
                    with harmless("read the memory of a test"):
                        self.values.append(self.read())

        return repeated

    def read(self):
        gc.collect()
        if self.device is None:
            _trim_heap()
            return read_host_bytes()
        memory = cuda_in_use()
        return None if memory is None else memory.memory_allocated(self.device)

    def end(self):
        self.item.obj = self.function
        super().end()

    def find_fault(self):
        values = self.values
        if len(values) <= self.repeats or None in values:  # the test ended in a repeat, or nothing could be read
            return None
        if any(after - before < self.least for before, after in zip(values, values[1:])):
            return None
        return "memory leak: each of %d repeats keeps memory, %s on average (%s → %s)" % (
            self.repeats, describe_bytes((values[-1] - values[0]) / self.repeats), *map(describe_bytes, (
                values[0], values[-1])))


CHECKS = {"memory_limit": _Limit, "memory_leak": _LeakCheck}


def _trim_heap():
    """Returns what malloc does not use to the system, where malloc can. Its unused blocks look like memory that a test keeps: freed
    tensors of 4 MiB let the RSS grow in each of ten repeats."""
    with contextlib.suppress(ImportError, OSError, TypeError, AttributeError):  # musl and other systems have no such function
        import ctypes
        ctypes.CDLL(None).malloc_trim(0)


def _reset_host_peak():
    """Lets the kernel count the peak of the RSS anew. Returns why it cannot."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        return None
    except OSError as error:
        return "the peak of the RSS cannot be reset: %s" % error.strerror


def _host_peak():
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
