#!/usr/bin/env python3
"""Runs the commands that README.md and the pages of docs/ show, and compares their output with the page.

In each ```console block a line that begins with "$ " is a command (a backslash at its end joins the next line), and the
lines below it are its output. The test runs the commands that call oomdoctor, in a copy of the repository's root made of
links: a file that they write stays there. It skips other commands. A line "..." in the output matches any lines.

docs/formats.md must be the output of `oomdoctor list formats --format markdown`. Links to files must lead to one.

OOMDOCTOR_BINARY names the program. --accept writes the output into the pages. Output with "..." keeps its pieces: the
first piece keeps its number of lines, every later one starts at the most similar line, and the last one goes to the end.
"""

import os
import re
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher, unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ROOT / "docs" / "formats.md"
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page != FORMATS)]
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


def shortened(expected, printed):
    """The printed lines, with "..." where the expected ones have it."""
    if not any(line.strip() in _ELLIPSIS for line in expected):
        return printed
    pieces = [[]]
    for line in expected:
        pieces[-1].append(line)
        if line.strip() in _ELLIPSIS:
            pieces.append([])
    rest, result = printed, []
    for piece in pieces:
        wanted = [line for line in piece if line.strip() not in _ELLIPSIS]
        start = 0
        if piece is not pieces[0] and wanted and rest:
            start = max(range(len(rest)), key=lambda i: SequenceMatcher(None, wanted[0], rest[i]).ratio())
        taken = len(rest) if piece is pieces[-1] and wanted else start + len(wanted)
        result += rest[start:taken] + piece[len(wanted):]
        rest = rest[taken:]
    return result


def check_formats(shell, accept):
    """The page of formats; the number of stale pages."""
    page = shell.run("oomdoctor list formats --format markdown")
    shown = FORMATS.read_text(encoding="utf-8").splitlines() if FORMATS.exists() else []
    if accept:
        FORMATS.write_text("\n".join(page) + "\n", encoding="utf-8")
    if shown == page:
        return 0
    print("\n".join(list(unified_diff(shown, page, FORMATS.name, "printed", lineterm=""))[:40]), end="\n\n")
    return 1


def dead_links(page, lines):
    """Links of a page, whose lines are given, to files that are not there."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)|<img src=\"([^\"]+)", "\n".join(lines))
    return [link for link in map("".join, links) if "://" not in link and not (page.parent / link).exists()]


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
        accepted.append((first, last, shortened(expected, printed)))
        print(f"{page.name}:{first}: $ {command}")
        print("\n".join(unified_diff(expected, printed, page.name, "printed", lineterm="")), end="\n\n")
    if accept:
        for first, last, printed in reversed(accepted):
            lines[first:last] = printed
    return ran, failed


def main():
    accept = "--accept" in sys.argv[1:]
    failed = ran = stale = 0
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        with tempfile.TemporaryDirectory() as folder:
            shell = Shell(Path(os.environ["OOMDOCTOR_BINARY"]).resolve(), folder)
            more, wrong = check_commands(shell, page, lines, accept)
            ran, failed = ran + more, failed + wrong
            for link in dead_links(page, lines):
                print(f"{page.name}: no file: {link}")
                stale += 1
            if page == PAGES[0]:
                stale += check_formats(shell, accept)
        if accept:
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if accept:
        return 0
    print(f"{ran - failed} passed, {failed} failed, {stale} pages or links are stale")
    return 0 if ran and not failed and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
