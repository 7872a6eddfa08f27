"""Performs worked examples of CONTRIBUTING.md on a copy of the tree, with the code of the page in the files that it names.

Builds the program of that copy in the preset quick, which takes minutes.
"""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NO_SOURCES = shutil.ignore_patterns(".git", "build", "node_modules", "__pycache__", "oomdoctor-out", ".cache")
MAX_FILES_OF_FIELD = 4

# The place of an insertion: the end of the code that the page names.
PLACES = {
    "parsers/settings.toml": r"^setting = \[\n(?=.*\n)",
    "src/oomdoctor/report.h": r"^struct ReportIncident \{\n.*?(?=^\};)",
    "src/report/report_fields.h": r"^void fields\(auto& field, Is<ReportIncident> auto& of\) \{\n.*?(?=^\})",
    "src/report/assemble.cc": r"^  ReportIncident incident\(.*?(?=^    return )",
}


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)[1]


def code(text, language):
    """The first code block of a language."""
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return next(textwrap.dedent(block) for name, block in blocks if name == language)


def file_in(text):
    """The first file that the text names."""
    return re.search(r"`((?:src|parsers)/[\w/]+\.\w+)`", text)[1]


FORMAT = section("Add a step format")
SETTING = section("Add a setting")
FIELD_STEPS = re.findall(r"^\d+\. .*?(?=^\d+\. |^\S|\Z)", section("Add a field to the report"), re.DOTALL | re.MULTILINE)
LOG = f"""\
{tomllib.loads("setting = [" + code(SETTING, "toml") + "]")["setting"][0]["example"]}
{tomllib.loads(code(FORMAT, "toml"))["format"][0]["example"]}
[ 2787.229991] Out of memory: Killed process 13432 (python)
"""


class WorkedExamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tree = pathlib.Path(folder.name, "oomdoctor")
        shutil.copytree(ROOT, cls.tree, ignore=NO_SOURCES)
        cls.add_format()
        cls.insert(file_in(SETTING), code(SETTING, "toml"))
        for step in FIELD_STEPS:
            cls.insert(file_in(step), code(step, "cpp"))
        built = cls.build()
        if built.returncode != 0:
            raise AssertionError(built.stdout[-4000:])
        (cls.tree / "train.log").write_text(LOG)
        analyzed = subprocess.run([cls.tree / "build/quick/oomdoctor", "analyze", "--format", "json", "--fail-on", "never",
                                   "train.log"], cwd=cls.tree, stdout=subprocess.PIPE, check=True)
        cls.report = json.loads(analyzed.stdout)

    @classmethod
    def add_format(cls, text=code(FORMAT, "toml")):
        (cls.tree / file_in(FORMAT)).write_text(text, encoding="utf-8")

    @classmethod
    def insert(cls, name, lines):
        path = cls.tree / name
        text = path.read_text(encoding="utf-8")
        end = re.search(PLACES[name], text, re.DOTALL | re.MULTILINE).end()
        path.write_text(text[:end] + lines + text[end:], encoding="utf-8")

    @classmethod
    def build(cls):
        command = "cmake --preset quick -D OOMDOCTOR_TESTS=OFF && cmake --build --preset quick --target oomdoctor"
        return subprocess.run(["bash", "-c", command], cwd=cls.tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)

    def test_the_examples_are_new(self):
        self.assertFalse((ROOT / file_in(FORMAT)).exists())
        for name, lines in [(file_in(SETTING), code(SETTING, "toml")),
                            *((file_in(step), code(step, "cpp")) for step in FIELD_STEPS)]:
            self.assertNotIn(lines.strip(), (ROOT / name).read_text(encoding="utf-8"))

    def test_a_step_format_is_one_file(self):
        (series,) = self.report["series"]
        self.assertEqual(("max_allocated", 1, 30, 17204000000),
                         tuple(series[key] for key in ("metric", "n", "first_step", "last_value")))

    def test_a_setting_is_one_row(self):
        self.assertEqual(1, len(code(SETTING, "toml").splitlines()))
        self.assertIn(("environments", "16"), [(setting["name"], setting["value"]) for setting in self.report["settings"]])

    def test_a_field_takes_few_files(self):
        self.assertLessEqual(len({file_in(step) for step in FIELD_STEPS}), MAX_FILES_OF_FIELD)
        (incident,) = self.report["incidents"]
        self.assertEqual("python", incident["process_name"])

    def test_a_wrong_format_stops_the_build(self):
        message = code(FORMAT, "").removeprefix("…/").rstrip("\n")
        wrong = message.splitlines()[1].strip()
        self.add_format(re.sub(r"^form .*$", lambda _: wrong, code(FORMAT, "toml"), flags=re.MULTILINE))
        self.addCleanup(self.add_format)
        built = self.build()
        self.assertNotEqual(0, built.returncode)
        self.assertIn(message, built.stdout)


if __name__ == "__main__":
    unittest.main()
