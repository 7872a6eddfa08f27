#!/usr/bin/env python3
"""The layering check must see what it is there for: one small tree for each breach."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import layering  # noqa: E402


class LayeringTest(unittest.TestCase):
    def found(self, files):
        """The breaches in a tree of the given files, beside one header of each stage and one rule; exemptions aside."""
        stages = ("base", "text", "model", "read", "growth", "facts", "judge", "report", "serialize", "render")
        tree = {f"src/{stage}/noun.h": "" for stage in stages}
        tree |= {"src/oomdoctor/report.h": "", "src/oomdoctor/version.h.in": "", "rules/causes/pump.toml": ""}
        with tempfile.TemporaryDirectory() as folder:
            tree |= files
            if "src/README.md" not in tree:
                tree["src/README.md"] = self.map_of(tree)
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(layering.breaches(Path(folder)))

    @staticmethod
    def map_of(tree):
        names = {tuple(name.split(".")[0].split("/")[1:]) for name in tree if name.startswith("src/")} - {("diagnose",)}
        return "".join(f"## {name[0]}/\n- `{name[-1]}`: a noun\n" for name in sorted(names) if len(name) == 2)

    def test_arrows_to_the_left_pass(self):
        self.assertEqual(self.found({
            "src/model/a.cc": '#include "base/noun.h"\n#include <vector>\n',
            "parsers/a.cc": '#include "read/noun.h"\n#include "text/noun.h"\n',
            "src/text/a.cc": '#include "base/noun.h"\n#include <toml++/toml.h>\n',
            "src/judge/a.cc": '#include "facts/noun.h"\n#include "text/noun.h"\n',
            "src/report/a.cc": '#include "oomdoctor/report.h"\n#include "oomdoctor/version.h"\n',
            "src/diagnose/noun.cc": '#include "read/noun.h"\n#include "report/noun.h"\n',
        }), [])

    def test_arrows_to_the_right_are_found(self):
        for path, name in [("src/base/a.cc", "text"), ("src/text/a.h", "model"), ("src/model/a.h", "read"),
                           ("src/read/a.cc", "growth"), ("parsers/a.cc", "judge"), ("src/growth/a.cc", "read"),
                           ("src/growth/a.cc", "facts"), ("src/facts/a.cc", "judge"), ("src/judge/a.cc", "report"),
                           ("src/report/a.cc", "render"), ("src/serialize/a.cc", "render")]:
            with self.subTest(path=path, name=name):
                stage = layering.stage_of(Path(path))
                self.assertEqual(self.found({path: f'// A noun.\n#include "{name}/noun.h"\n'}),
                                 [f'{path}:2: {stage} may not include {name} ("{name}/noun.h")'])

    def test_the_report_is_only_for_the_stages_that_fill_it(self):
        include = '#include "oomdoctor/report.h"\n'
        self.assertEqual(self.found({"src/read/a.cc": include}),
                         ['src/read/a.cc:1: read may not include oomdoctor ("oomdoctor/report.h")'])
        self.assertEqual(self.found({"src/judge/a.cc": include}), [])

    def test_public_headers_stand_alone(self):
        header = '#include <string>\n#include "base/noun.h"\n#include <fmt/core.h>\n'
        self.assertEqual(self.found({"src/oomdoctor/a.h": header}),
                         ['src/oomdoctor/a.h:2: oomdoctor may not include base ("base/noun.h")',
                          "src/oomdoctor/a.h:3: a public header includes <fmt/core.h>"])

    def test_libraries_stay_in_their_stage_and_out_of_headers(self):
        self.assertEqual(self.found({"src/read/a.cc": "#include <boost/regex.hpp>\n"}),
                         ["src/read/a.cc:1: Boost does not belong in read (<boost/regex.hpp>)"])
        self.assertEqual(self.found({"src/growth/a.h": "#include <Eigen/Dense>\n"}),
                         ["src/growth/a.h:1: Eigen in a header (<Eigen/Dense>)"])
        self.assertEqual(self.found({"src/text/pattern.h": "#include <boost/regex.hpp>\n"}), [])

    def test_includes_are_written_from_src(self):
        self.assertEqual(self.found({"src/text/a.cc": '#include "noun.h"\n'}),
                         ['src/text/a.cc:1: "noun.h" is not a file under src/; includes are written from there'])

    def test_rule_ids_are_found_as_literals_only(self):
        self.assertEqual(self.found({"src/judge/a.cc": '// pump, "pumps"\nint pump = f("the pump", "pump");\n'}),
                         ["src/judge/a.cc:2: \"pump\" is a rule's id; say it in rules/, or give the fact another name"])

    def test_no_line_is_read_behind_the_scan(self):
        for words in ('oom.message_format == "x"', '"x" != incident.oom.message_format', "e.excerpt.find(word)",
                      'contains(incident.evidence.excerpt, "x")'):
            line = f"bool f() {{ return {words}; }}\n"
            self.assertEqual(len(self.found({"src/facts/a.cc": line})), 1, words)
            self.assertFalse(self.found({"src/read/a.cc": line}), words)

    def test_parsers_hold_no_headers_and_every_file_has_a_stage(self):
        self.assertEqual(self.found({"parsers/a.h": ""}),
                         ["parsers/a.h:1: parsers/ holds no headers; shared readers live in src/read"])
        self.assertEqual(len(self.found({"src/misc/a.cc": ""})), 1)
        self.assertIn(f"src/other.cc:1: no stage: known are {', '.join(layering.MAY_INCLUDE)}",
                      self.found({"src/other.cc": ""}))

    def test_a_type_of_a_second_meaning_is_found(self):
        first = "namespace {\n/// A row.\nstruct Row {\n  int cells = 0;\n};\n}\n"
        advice = "is also a type of src/text/a.cc:3; give each the noun of its own thing"
        for second in ("struct Row {};", "class Table {\n  struct Row final : Line { int n; };\n};",
                       "enum class Row : std::uint8_t { odd, even };", "using Row = std::vector<int>;",
                       "template <class T>\nclass alignas(64) Row\n{\n};"):
            with self.subTest(second=second):
                found = self.found({"src/text/a.cc": first, "src/text/b.cc": second + "\n"})
                line = 1 + second[:second.index("Row")].count("\n")
                self.assertEqual(found, [f"src/text/b.cc:{line}: Row {advice}"])

    def test_declarations_and_aliases_of_one_type_are_no_second_meaning(self):
        self.assertEqual(self.found({
            "src/read/a.h": "struct Row;\nclass Table {\n  struct Impl;\n  struct Cell;\n  enum class Op { add };\n};\n"
                             "struct Row {\n  Row(int n);\n};\n",
            "src/read/a.cc": "struct Table::Impl {};\nstruct Table::Cell {};\nusing Op = Table::Op;\n// struct Row {\n"
                              'const char* text = "struct Row {";\nusing Json = nlohmann::ordered_json;\n',
            "src/read/b.cc": "struct List::Impl {};\nusing Json = nlohmann::ordered_json;\nvoid f(struct Row& row) {}\n",
            "src/read/c.cc": "#ifdef A\nstruct Table::Cell {};\n#endif\nenum Row next() { return {}; }\n",
        }), [])

    def test_the_map_is_complete_and_current(self):
        self.assertEqual(self.found({"src/README.md": self.map_of({"src/base/gone.h": ""})})[-1],
                         "src/README.md:2: there is no base/gone")
        self.assertIn("src/README.md: the map does not name text/noun", self.found({"src/README.md": ""}))


if __name__ == "__main__":
    unittest.main()
