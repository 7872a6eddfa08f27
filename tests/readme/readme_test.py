#!/usr/bin/env python3
"""Runs the commands that README.md and docs/scale.md show and compares what they print with what they say they print.

In each ```console block a line that begins with "$ " is a command (a backslash at its end joins the next line), and the
lines below it are its output. Commands that run oomdoctor are run, in a copy of the repository's root made of links, so
that a file they write lands nowhere; other commands are left alone. A line "..." in the output stands for any lines.

docs/formats.md must be what `oomdoctor list formats --format markdown` prints, and the table of families in README.md, between
<!-- families --> and <!-- end -->, the one of that page.

OOMDOCTOR_BINARY names the program. --accept writes what was printed into both instead; output with "..." stays.
"""

import os
import re
import subprocess
import sys
import tempfile
from difflib import unified_diff
from itertools import dropwhile, takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
FORMATS = ROOT / "docs" / "formats.md"
SCALE = ROOT / "docs" / "scale.md"
_PROGRAM = re.compile(r"(?<![\w./-])(?:(?:\./)?build/release/)?oomdoctor(?=\s|$)")
_ELLIPSIS = {"...", "…"}


def commands(lines):
    """(first, last, command, output) of each command: lines[first:last] is its output."""
    inside = False
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("```"):
            inside = line.strip() == "```console"
        elif inside and line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + lines[number].removeprefix("> ").strip()
                number += 1
            first = number
            while not lines[number].startswith(("```", "$ ")):
                number += 1
            yield first, number, command, lines[first:number]


def runs_the_program(command):
    return any(_PROGRAM.match(part.strip()) for part in re.split(r"\|\|?|&&|;", command))


class Shell:
    """Runs commands in a folder of links to the repository, and keeps the last exit status for `echo $?`."""

    def __init__(self, program, folder):
        self.folder = Path(folder, "work")
        self.folder.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in (".git", "build"):
                (self.folder / entry.name).symlink_to(entry)
        programs = Path(folder, "bin")
        programs.mkdir()
        (programs / "oomdoctor").symlink_to(program)
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": folder}
        self.status = 0

    def run(self, command):
        script = f"(exit {self.status}); " + _PROGRAM.sub("oomdoctor", command)
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        self.status = done.returncode
        return done.stdout.decode("utf-8").splitlines()


def matches(expected, printed):
    """Whether the printed lines are the expected ones, "..." standing for any number of lines."""
    pattern = "".join("(?:.*\n)*?" if line.strip() in _ELLIPSIS else re.escape(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def check(path, expected, printed):
    """Prints how a part of a page differs from what it should be; True when it does not."""
    if expected == printed:
        return True
    print("\n".join(list(unified_diff(expected, printed, path.name, "printed", lineterm=""))[:40]), end="\n\n")
    return False


def check_formats(shell, lines, accept):
    """The page of formats, and its families in README.md, whose lines are given; the number of stale parts."""
    page = shell.run("oomdoctor list formats --format markdown")
    table = takewhile(lambda row: row.startswith("|"), dropwhile(lambda row: not row.startswith("|"), page))
    families = ["", *(row.replace("](#", "](docs/formats.md#") for row in table), ""]
    first, last = lines.index("<!-- families -->") + 1, lines.index("<!-- end -->")
    stale = [not check(FORMATS, FORMATS.read_text(encoding="utf-8").splitlines() if FORMATS.exists() else [], page),
             not check(README, lines[first:last], families)]
    if accept:
        lines[first:last] = families
        FORMATS.write_text("\n".join(page) + "\n", encoding="utf-8")
    return sum(stale)


def check_commands(shell, page, lines, accept):
    """Runs the commands of a page, whose lines are given; how many ran and how many printed something else."""
    failed = ran = 0
    accepted = []
    for first, last, command, expected in commands(lines):
        if not runs_the_program(command) and not (ran and command == "echo $?"):
            continue
        ran += 1
        printed = shell.run(command)
        if matches(expected, printed):
            continue
        failed += 1
        accepted.append((first, last, printed if not _ELLIPSIS & set(expected) else expected))
        print(f"{page.name}:{first}: $ {command}")
        print("\n".join(unified_diff(expected, printed, page.name, "printed", lineterm="")), end="\n\n")
    if accept:
        for first, last, printed in reversed(accepted):
            lines[first:last] = printed
    return ran, failed


def main():
    accept = "--accept" in sys.argv[1:]
    failed = ran = stale = 0
    for page in (README, SCALE):
        lines = page.read_text(encoding="utf-8").splitlines()
        with tempfile.TemporaryDirectory() as folder:
            shell = Shell(Path(os.environ["OOMDOCTOR_BINARY"]).resolve(), folder)
            more, wrong = check_commands(shell, page, lines, accept)
            ran, failed = ran + more, failed + wrong
            if page == README:
                stale = check_formats(shell, lines, accept)
        if accept:
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if accept:
        return 0
    print(f"{ran - failed} passed, {failed} failed, {stale} parts of the pages are stale")
    return 0 if ran and not failed and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
