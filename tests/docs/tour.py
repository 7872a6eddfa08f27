#!/usr/bin/env python3
"""Checks docs/tour.md against the tree.

A code span with a slash is a file, which must exist. Any other code span is a name in the last file before it: each of
its words must be in that file. In C++ files, comments do not count, because a comment may outlive the name.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs" / "tour.md"
WALKS = 3
MAX_LINES = 60  # of a walk

SPAN = re.compile(r"`([^`]+)`")
IDENTIFIER = re.compile(r"~?[A-Za-z_]\w*(::~?[A-Za-z_]\w*)*(\(\))?")


def without_code_blocks(page):
    return re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)


def code_of(path):
    """The text of a file, without the comments of C++."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"//[^\n]*", "", text) if path.suffix in (".cc", ".h") else text


def has_name(code, name):
    """Whether the code contains an identifier, qualified or not, or else a text such as `trend.leak` or `weight = 4`."""
    words = re.findall(r"\w+", name) if IDENTIFIER.fullmatch(name) else [name]
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", code) for word in words)


def faults(text, root=ROOT):
    """What is wrong with the code spans of a paragraph or a list item."""
    file = None
    for span in SPAN.findall(without_code_blocks(text)):
        name = " ".join(span.split())
        if "/" in name:
            file = root / name
            if not file.is_file():
                yield f"there is no file {name}"
                return
        elif file is None:
            yield f"no file before `{name}`"
        elif not has_name(code_of(file), name):
            yield f"{file.relative_to(root)} does not contain `{name}`"


def items(page):
    """The paragraphs and list items of a page."""
    return re.split(r"\n\s*\n|\n(?=\d+\. )", without_code_blocks(page))


def walks(page):
    return re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]


class Tour(unittest.TestCase):
    def setUp(self):
        self.page = TOUR.read_text(encoding="utf-8")

    def test_every_name_exists(self):
        found = [fault for item in items(self.page) for fault in faults(item)]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_each_walk_fits_a_page(self):
        self.assertEqual(WALKS, len(walks(self.page)))
        for walk in walks(self.page):
            lines = walk.strip().splitlines()
            self.assertLessEqual(len(lines), MAX_LINES, lines[0])

    def test_each_step_has_input_and_output(self):
        for walk in walks(self.page):
            steps = [item for item in items(walk) if re.match(r"\d+\. ", item)]
            self.assertEqual([*range(1, len(steps) + 1)], [int(step.partition(".")[0]) for step in steps])
            for step in steps:
                self.assertRegex(step, r"^\d+\. \*\*[^*]+\.\*\* ")
                self.assertRegex(step, r"(?s)\bIn:\s.*\bOut:\s")


class Check(unittest.TestCase):
    """The check sees what it is there for."""

    def test_missing_names(self):
        file = "`src/diagnose/pipeline.cc`"
        self.assertEqual([], list(faults(f"{file}: `LogReader::read`, `diagnose_scan`, `options.why_not`")))
        for text in ("`src/diagnosis.cc`: `diagnose_scan`", "`diagnose_scan`", f"{file}: `LogReader::write`", f"{file}: `diagnos`",
                     f"{file}: `options.why`"):
            self.assertEqual(1, len(list(faults(text))), text)

    def test_comments_do_not_count(self):
        self.assertIn("destroyed", (ROOT / "src/diagnose/pipeline.cc").read_text(encoding="utf-8"))
        self.assertTrue([*faults("`src/diagnose/pipeline.cc`: `destroyed`")])


if __name__ == "__main__":
    unittest.main()
