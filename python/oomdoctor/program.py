"""Finds and runs the program oomdoctor, which does all reading and judging for this package."""
import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time

DEFAULT_TIMEOUT = 60.0  # seconds; oomdoctor reads more than 100 MB of a log in one
MAX_OUTPUT = 256 * 2**20  # bytes; a report of very many ranks has some 10 MB
END_WAIT = 1.0  # seconds for a killed process to vanish; the kernel may keep it while a disk does not answer


class Error(Exception):
    """The program gave no report. The text says why, in one line."""


def find_program():
    """The path of the program: OOMDOCTOR_BINARY, else that of this package's wheel, else the first on PATH."""
    chosen = os.environ.get("OOMDOCTOR_BINARY")
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise Error("OOMDOCTOR_BINARY names no program: %r" % chosen)
        return path
    path = _program_of_wheel() or shutil.which("oomdoctor")
    if path is None:
        raise Error("the program oomdoctor is not installed: install its wheel, or set OOMDOCTOR_BINARY")
    return path


def run_program(words, *, text=None, timeout=DEFAULT_TIMEOUT):
    """(status, standard output, standard error) of the program. The streams are bytes.

    text: bytes for its standard input; without them, the input is empty.
    timeout: seconds after which the program is killed.
    """
    program, deadline = find_program(), time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        try:
            source = subprocess.DEVNULL if text is None else stack.enter_context(_file_with(text))
            # A session of its own, so that all of its processes can be ended.
            process = subprocess.Popen([program, *words], stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       bufsize=0, start_new_session=True)
        except (OSError, ValueError) as error:
            raise Error("cannot start %s: %s" % (program, error)) from error
        stack.enter_context(process.stdout)
        stack.enter_context(process.stderr)
        try:
            output, errors = _read_both(process, deadline)
            status = process.wait(max(deadline - time.monotonic(), END_WAIT))
        except BaseException as error:
            _kill(process)
            if isinstance(error, (TimeoutError, subprocess.TimeoutExpired)):
                raise Error("%s gave no report within %g s" % (program, timeout)) from error
            raise
    return status, output, errors


def first_line(errors):
    """What the program printed first on standard error, as one line of text."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[0].strip()[:500] if lines else ""


def _program_of_wheel():
    """The program that pip installed with this package. Its folder may not be on PATH."""
    from importlib import metadata  # takes some milliseconds, which no training needs
    try:
        files = metadata.files("oomdoctor") or ()
        if not any(os.path.samefile(file.locate(), __file__) for file in files if file.name == "program.py"):
            return None  # of another copy of the package
        return next((shutil.which(str(file.locate())) for file in files if file.name == "oomdoctor"), None)
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return None


def _file_with(text):
    """A file with these bytes at its start: in memory, because the disk may be full."""
    file = os.fdopen(os.memfd_create("log"), "w+b") if hasattr(os, "memfd_create") else tempfile.TemporaryFile()
    try:
        file.write(text)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _read_both(process, deadline):
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 2**16)
                kept[key.fileobj] += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
                if len(kept[key.fileobj]) > MAX_OUTPUT:
                    raise Error("%s prints without end" % process.args[0])
    return [bytes(text) for text in kept.values()]


def _kill(process):
    """Ends the program and its children. It is not waited for yet, so the number of its group is still its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_WAIT)
