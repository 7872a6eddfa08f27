"""Keeps the troubles of this package out of the training.

A training calls this package between its own steps. If something fails here, a part of a line is missing, and another
line names it: once per kind of trouble. No exception of this package reaches the training.
"""
import collections
import errno
import functools
import io
import os
import re
import signal
import sys
import types

MAX_KINDS = 20  # of trouble that a process names; a batch could raise a new class each step
MAX_RECENT = 5000  # lines that a process keeps for its report: with 250 bytes each, 1.3 MB
MAX_NUMBER = 10**15 - 1  # oomdoctor reads 15 digits
# Encodings with one form of "\n" and without a mark at the start of each text.
PLAIN_ENCODINGS = ("utf-8", "utf8", "ascii", "us-ascii", "ansi_x3.4-1968", "latin-1", "iso-8859-1")
# Names of files that no reader takes for a failure: not out_of_memory.py.
PLAIN_NAME = re.compile(r"(?!.*(memory|oom|alloc|cuda|kill))[\w.<>-]{1,80}$", re.IGNORECASE | re.ASCII)
TAKES_ANY_ARGUMENTS = 0x04  # of a code's flags: *args

recent_lines = collections.deque(maxlen=MAX_RECENT)  # that this process printed or tried to print
_named = set()  # the kinds of trouble that a line has named


class Unprintable(Exception):
    """A value that has no printed form. The text is safe to print."""


class harmless:
    """A context that suppresses what fails inside, and names it once: with harmless("print the batch shape", file): ...

    KeyboardInterrupt, SystemExit and the exceptions of the program's signal handlers pass.
    """

    __slots__ = ("what", "file")

    def __init__(self, what, file=None):
        self.what, self.file = what, file

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception):
            return False
        try:
            if not _from_signal_handler(trace):
                name_trouble((self.what, _known_class(error)), "cannot %s: %s" % (self.what, reason(error)),
                             self.file)
                return True
        except (MemoryError, RecursionError):  # no room to name it
            return True
        except Exception as second:  # the interpreter may be ending
            return not _from_signal_handler(second.__traceback__)
        return False


def harmless_hook(method):
    """A method that a trainer calls. No trouble reaches the trainer, not even arguments of another version of it."""

    @functools.wraps(method)
    def guarded(self, *args, **kwargs):
        with harmless("print the line of %s" % method.__name__, getattr(self, "file", None)):
            method(self, *args, **kwargs)

    return guarded


def name_trouble(kind, text, file):
    """Prints a line once per kind of trouble: to `file`, or to standard error if `file` fails."""
    if kind in _named or len(_named) >= MAX_KINDS:
        return
    _named.add(kind)
    for stream in (file, None):
        try:
            return write_line(text + " (printed once)", stream)
        except Exception as error:
            if _from_signal_handler(error.__traceback__):
                raise


def reason(error):
    """What an exception was and where, without its text: a log with that text would look like the log of a failure."""
    if isinstance(error, Unprintable):
        return str(error)
    words, trace = _known_class(error), error.__traceback__
    if isinstance(error, OSError) and error.errno in errno.errorcode and error.errno != errno.ENOMEM:
        words += " " + errno.errorcode[error.errno]
    place = ""
    while trace is not None:
        if not _is_own(trace.tb_frame):
            name = os.path.basename(trace.tb_frame.f_code.co_filename)
            place = " in line %d of %s" % (trace.tb_lineno, name if PLAIN_NAME.match(name) else "another module")
        trace = trace.tb_next
    return words + place


def whole_number(value, name):
    """A number as oomdoctor reads it."""
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        raise Unprintable("%s is not a whole number" % name) from None
    if not 0 <= number <= MAX_NUMBER:
        raise Unprintable("%s is negative or has more than 15 digits" % name)
    return number


def write_line(text, file):
    """Prints one line with the mark of this package."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    line = "[oomdoctor] %s\n" % text
    recent_lines.append(line)
    write_text(line, file)


def write_text(text, file):
    """Prints a text in one write, so that the texts of several ranks do not mix."""
    stream = sys.stderr if file is None else file
    if stream is None:
        return  # a program without standard error
    raw = _unbuffered(stream)
    if raw is not None:
        _write_all(raw, text.encode(stream.encoding, "backslashreplace"))
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
    flush = getattr(stream, "flush", None)
    if flush is not None:
        flush()


def _known_class(error):
    """The name of the built-in class of an exception. MemoryError is left out, because it is a failure in a log."""
    return next(kind.__name__ for kind in type(error).__mro__
                if kind.__module__ == "builtins" and kind is not MemoryError)


def _unbuffered(stream):
    """The file below a plain text stream; None for any other stream.

    A line that a full disk refuses would stay in the stream's buffer, and the program's next line or its end would fail
    with it. A stream whose write() was replaced is not plain, because a tool reads along.
    """
    if type(stream) is not io.TextIOWrapper or "write" in vars(stream):
        return None
    raw = getattr(stream.buffer, "raw", None) if stream.encoding.lower() in PLAIN_ENCODINGS else None
    if type(raw) is not io.FileIO:
        return None
    stream.flush()  # the program's own text comes first
    return raw


def _write_all(raw, data):
    while data:
        written = raw.write(data)
        if not written:
            raise BlockingIOError(errno.EAGAIN, "the stream takes no more")
        data = data[written:]


def _from_signal_handler(trace):
    """Whether a signal handler of the program raised it while this package ran: a time limit, a preemption."""
    codes = set()
    while trace is not None:
        if _may_be_handler(trace.tb_frame):
            codes.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    return bool(codes) and not codes.isdisjoint(map(_code_of_handler, signal.valid_signals()))


def _may_be_handler(frame):
    """A handler receives the frame that it interrupts. The test spares most exceptions a look at all 64 signals."""
    return not _is_own(frame) and (frame.f_code.co_flags & TAKES_ANY_ARGUMENTS or
                                   types.FrameType in map(type, frame.f_locals.values()))


def _is_own(frame):
    return frame.f_globals.get("__package__") == __package__


def _code_of_handler(number):
    handler = signal.getsignal(number)
    handler = getattr(handler, "func", handler)  # of a functools.partial
    return getattr(handler, "__code__", None) or getattr(getattr(type(handler), "__call__", None), "__code__", None)
