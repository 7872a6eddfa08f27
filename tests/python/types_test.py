"""The classes of python/oomdoctor/report_types.py and estimate_types.py, which follow the JSON Schemas of the program.

OOMDOCTOR_BINARY names the program. `types_test.py --accept` writes both files anew.
"""
import json
import keyword
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "oomdoctor"
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
WIDTH = 110
# For each schema: the file, the class of the whole, and the base of that class.
FILES = {"report": ("report_types.py", "Report", "ReportMethods"),
         "estimate": ("estimate_types.py", "MemoryEstimate", "Record")}


def schema_of(name):
    return json.loads(subprocess.run([BINARY, "schema", name], capture_output=True, check=True, timeout=60).stdout)


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


class Writer:
    """Writes a class for each object of a schema, the inner ones first."""

    def __init__(self, schema):
        self.schema, self.classes, self.used = schema, {}, set()

    def kind(self, of, place):
        """The annotation of a value. `place` is the class name of an object without a name."""
        if "$ref" in of:
            name = of["$ref"].rsplit("/", 1)[1]
            return self.add(camel(name), self.schema["$defs"][name])
        kinds = of.get("type", "string")
        if isinstance(kinds, list):  # or null
            return self.typing("Optional", self.kind({**of, "type": kinds[0]}, place))
        if "enum" in of:
            return self.typing("Literal", *map(json.dumps, of["enum"]))
        if "const" in of:
            return self.typing("Literal", json.dumps(of["const"]))
        if "prefixItems" in of:
            return self.typing("Tuple", *(self.kind(item, place) for item in of["prefixItems"]))
        if kinds == "array":
            # The items of "other_processes" are of the class …OtherProcess.
            return self.typing("List", self.kind(of["items"], re.sub(r"(?<=ss)es$|s$", "", place)))
        if "additionalProperties" in of:
            return self.typing("Dict", "str", self.kind(of["additionalProperties"], place))
        return self.add(place, of) if kinds == "object" else PLAIN[kinds]

    def typing(self, name, *inner):
        self.used.add(name)
        return f"{name}[{', '.join(inner)}]"

    def add(self, name, of, base="Record"):
        if name in self.classes:
            return name
        lines, required = [], of.get("required", [])
        fields = sorted(of["properties"].items(), key=lambda field: field[0] not in required)  # stable
        for field, value in fields:
            kind, default = self.kind(value, name + camel(field)), ""
            if field not in required and kind.startswith("List"):
                default = " = field(default_factory=list)"
            elif field not in required:
                default = " = None"
                kind = kind if kind.startswith("Optional") else self.typing("Optional", kind)
            line = f"{field}{'_' * keyword.iskeyword(field)}: {kind}"
            if len(line + default) + 4 > WIDTH:
                head, rest = line.split("[", 1)
                line = f"{head}[\n" + textwrap.fill(rest, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
            description = value.get("description", "")
            lines += described(line + default, "" if description in field else description)
        if description := of.get("description"):
            lines[:0] = [*textwrap.wrap(f'"""{description[0].upper()}{description[1:].rstrip(".")}."""', WIDTH - 4), ""]
        decorator = "@dataclass(frozen=True)" if base == "Record" else "@dataclass(frozen=True, repr=False)"
        self.classes[name] = "\n".join([decorator, f"class {name}({base}):", *(f"    {line}" if line else "" for line in lines)])
        return name


def described(line, description):
    """A field with its description: behind it if there is room, else above it."""
    if description and (len(line) + len(description) + 8 > WIDTH or "\n" in line):
        return [*(f"# {part}" for part in textwrap.wrap(description, WIDTH - 6)), *line.split("\n")]
    return f"{line}  # {description}".split("\n") if description else line.split("\n")


def classes(name):
    """The text of the file with the classes of a schema."""
    schema, (_, whole, base) = schema_of(name), FILES[name]
    writer = Writer(schema)
    writer.add(whole, schema, base)
    bases = ", ".join(sorted({"Record", base}))
    return (f'"""The classes of the JSON of `oomdoctor {"analyze" if name == "report" else name}`.\n\n'
            f"tests/python/types_test.py --accept writes this file from `oomdoctor schema {name}`, with its comments.\n"
            f'"""\nfrom dataclasses import dataclass, field\nfrom typing import {", ".join(sorted(writer.used))}\n\n'
            f"from oomdoctor.records import {bases}\n\n\n" + "\n\n\n".join(writer.classes.values()) + "\n")


class Types(unittest.TestCase):
    def test_the_classes_have_the_fields_of_the_schemas(self):
        for name, (file, *_) in FILES.items():
            self.assertEqual((PACKAGE / file).read_text(), classes(name),
                             "the fields changed; OOMDOCTOR_BINARY=… tests/python/types_test.py --accept")


if __name__ == "__main__":
    if "--accept" in sys.argv:
        for each, (written, *_) in FILES.items():
            (PACKAGE / written).write_text(classes(each))
    else:
        unittest.main()
