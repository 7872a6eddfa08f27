"""Reports for programs: analyze() and estimate(). They run the program and raise Error if it gives no report."""
import json
import os
from typing import Union

from oomdoctor.estimate_types import MemoryEstimate
from oomdoctor.program import DEFAULT_TIMEOUT, Error, find_program, first_line, run_program
from oomdoctor.report_types import Report

ENDED = (0, 1, 2)  # statuses of a program that was not killed; 2 also means that it recognised nothing in the log


def analyze(source=None, *, text: Union[str, bytes, None] = None, timeout: float = DEFAULT_TIMEOUT, **options) -> Report:
    """The Report on the logs of one run.

    source: a path, several paths, or the text of a log: bytes, or a str with a line break.
    text: the text of a log of any form, also next to paths.
    timeout: seconds for the program.
    options: those of `oomdoctor analyze`, with _ for -: capacity="24GiB", why_not="leak", format_file=["a.toml"],
        trace=True.
    """
    if isinstance(source, bytes) or isinstance(source, str) and "\n" in source:
        if text is not None:
            raise TypeError("analyze() takes one text")
        source, text = None, source
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source or ())
    if text is None and not paths:
        if source is not None:
            raise Error("oomdoctor: analyze() got no path: the list is empty")
        raise TypeError("analyze() needs a path or a text")
    words = [*_command("analyze", options), *map(_path_word, paths)]
    if text is None:
        return _run(Report, words, None, timeout)
    return _run(Report, [*words, "-"], text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"),
                timeout)


def estimate(*, timeout: float = DEFAULT_TIMEOUT, **options) -> MemoryEstimate:
    """The MemoryEstimate of a run before it starts.

    options: those of `oomdoctor estimate`, with _ for -: model="llama-2-7b", card="a100-80g", batch=4, seq=2048.
    """
    return _run(MemoryEstimate, _command("estimate", options), None, timeout)


def _command(name, options):
    if "format" in options:
        raise TypeError("%s() has no option 'format': it returns an object" % name)
    return [name, "--format=json", *option_words(options)]


def option_words(options):
    """The words of options on the command line. True is an option without a value; None and False leave it out."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += ["%s=%s" % (option, each) for each in (value if isinstance(value, (list, tuple)) else (value,))]
    return words


def _path_word(path):
    path = os.fspath(path)
    path = path if isinstance(path, str) else os.fsdecode(path)
    return os.path.join(os.curdir, path) if path.startswith("-") else path


def _run(kind, words, text, timeout):
    status, output, errors = run_program(words, text=text, timeout=timeout)
    if status not in ENDED:
        raise Error("%s ended with status %d %s" % (find_program(), status, first_line(errors)))
    if not output:
        raise Error(first_line(errors) or "%s printed nothing" % find_program())
    try:
        return kind.from_dict(json.loads(output.decode("utf-8", "surrogateescape")))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Error("%s printed no report that this version of the package reads" % find_program()) from error
