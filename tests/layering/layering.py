#!/usr/bin/env python3
"""Checks the house rules that no compiler checks, and prints file:line for each breach.

1. Include arrows point to the left only: base < text < model < read < scan < fold < formats, read < parsers, and
   model < growth, evidence < facts < judge < report < redact, compare < serialize < render < cli; estimate, run and mcp
   need base alone.
   The results' types (oomdoctor/) are plain data, and the stages from model on fill them.
2. The public headers in src/oomdoctor/ lean on the standard library and each other alone.
3. Boost, Highway, Eigen, toml++ and the JSON library stay inside the stages that use them, and out of headers.
4. The code knows no single cause, fix or myth: their ids are file names in rules/, never literals in src/ or parsers/.
5. The map in src/README.md names every file of src/ under its stage, and no other.
6. A type's name has one meaning in src/ and parsers/, for nested types, file-local types and aliases, too.

Usage: layering.py [ROOT]
"""

import re
import sys
from pathlib import Path

# For each stage the stages that it may include, itself among them.
_LEFT = {"base": [], "text": ["base"], "model": ["base", "text", "oomdoctor"]}
_LEFT["read"] = ["base", "text", "model"]
_LEFT["parsers"] = [*_LEFT["read"], "read"]
_LEFT["scan"] = [*_LEFT["read"], "read"]
_LEFT["fold"] = [*_LEFT["scan"], "scan"]
_LEFT["formats"] = [*_LEFT["fold"], "fold"]
_LEFT["growth"] = ["base", "text", "model", "oomdoctor"]
_LEFT["evidence"] = ["base", "text", "model", "oomdoctor"]
_LEFT["estimate"] = ["base"]
_LEFT["facts"] = [*_LEFT["growth"], "growth", "evidence", "estimate"]
_LEFT["judge"] = [*_LEFT["facts"], "facts"]
_LEFT["report"] = [*_LEFT["judge"], "judge"]
_LEFT["redact"] = [*_LEFT["report"], "report"]
_LEFT["compare"] = [*_LEFT["report"], "report"]
_LEFT["serialize"] = [*_LEFT["report"], "report", "redact", "compare"]
_LEFT["render"] = [*_LEFT["serialize"], "serialize"]
_LEFT["oomdoctor"] = []
_LEFT["diagnose"] = [*_LEFT["render"], "render", *_LEFT["formats"], "formats"]
_LEFT["run"] = ["base"]
_LEFT["mcp"] = ["base"]
_LEFT["cli"] = [*_LEFT["diagnose"], "run", "mcp"]
_LEFT["web"] = [*_LEFT["cli"], "cli"]
_LEFT["cmake"] = [*_LEFT["judge"], "judge", *_LEFT["formats"], "formats"]  # what the build runs
MAY_INCLUDE = {stage: {stage, *left} for stage, left in _LEFT.items()}

# For each library the stages whose .cc files may include it, and the headers that may.
LIBRARIES = {
    "Boost": (r"boost/", {"text", "growth", "cli"}, {"text/pattern.h"}),
    "Highway": (r"hwy/", {"text"}, set()),
    "Eigen": (r"Eigen/", {"growth"}, {"growth/fit.h"}),
    "toml++": (r"toml\+\+/", {"text"}, set()),
    "xxHash": (r"xxhash", {"text"}, set()),
    "utf8proc": (r"utf8proc", {"report"}, set()),
    "nlohmann-json": (r"nlohmann/", {"text", "evidence", "serialize", "render", "mcp", "cli"}, set()),
}

# Ids that are also words of the report's contract or of a log, as (file or folder, id): why.
ORDINARY_WORDS = {
    ("src/cli/trainer_settings.cc", "lora"): "a value in a trainer's settings",
    ("src/cli/trainer_settings.cc", "adafactor"): "the same",
    ("src/model/event.h", "masked"): "a kind of incident in the report's contract",
    ("src/model/event.h", "shared_memory"): "a kind of incident in the report's contract",
    ("src/report/incident_words.cc", "shared_memory"): "the same kind, in words",
    ("src/report/incident_words.cc", "masked"): "the same kind, in words",
    ("src/report/report_fields.h", "shared_memory"): "the same kind, in the list of fields",
    ("src/report/report_fields.h", "masked"): "the same kind, in the list of fields",
    ("src/report/report_fields.h", "leak"): "a field of a trend in the report's contract",
    ("src/report/report_fields.h", "kv_cache"): "a kind of tensor in the report's contract",
    ("src/report/report_fields.h", "fragmentation"): "a failure of a snapshot in the report's contract",
    ("src/report/report_fields.h", "stream_pending"): "a failure of a snapshot in the report's contract",
    ("src/oomdoctor/report.h", "fragmentation"): "the same, in its enumeration",
    ("src/oomdoctor/report.h", "stream_pending"): "the same, in its enumeration",
    ("src/evidence/snapshot_findings.cc", "kv_cache"): "a kind of tensor in the report's contract",
    ("src/evidence/code_lines.cc", "kv_cache"): "a part of the names of files and functions",
    ("src/compare/setting_effects.cc", "lora"): "a setting that logs print",
    ("src/read/label.cc", "leak"): "a word of printed labels",
    ("src/read/label.cc", "fragmentation"): "a word of printed labels",
    ("parsers/model.cc", "lora"): "a setting that logs print",
}

# Behind the scan, the text of a line is only quoted, and the form of a message is only shown: what they mean is a value
# that the parser sets.
BEHIND_SCAN = {"facts", "growth", "judge", "diagnose", "report", "render", "compare"}
_READS_TEXT = re.compile(r"\bmessage_format\s*[=!]=|[=!]=\s*\w+(?:\.\w+)*\.message_format\b"
                         r"|\b(?:excerpt|message_format)\.(?:find|starts_with|ends_with|rfind|compare|substr)\b"
                         r"|\bcontains\([^()]*\b(?:excerpt|message_format)\b")
# Who may: why.
MAY_READ_TEXT = {
    "src/facts/host.cc": "the prefix of a form names the manager that printed it",
}

# Names that several types may share: why.
SHARED_TYPE_NAMES = {
    "Impl": "the hidden half of a class, which its .cc file defines",
    "iterator_category": "the standard library asks an iterator for it",
    "reference": "the standard library asks an iterator for it",
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
_MAP_STAGE = re.compile(r"^## (\w+)/")
_MAP_NAME = re.compile(r"^- `(\w+)`: ")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
_TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*"
                   r"((?:\w+::)*(\w+))\s*(?:final\s*)?(?::[^;{}()]*)?\{")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]*);")


def stage_of(path):
    """The stage of a file, given relative to the root of the project; None for a file outside all stages."""
    parts = path.parts
    if parts[0] == "parsers":
        return "parsers"
    return parts[1] if parts[0] == "src" and len(parts) == 3 else None


def sources(root):
    for folder in ("src", "parsers"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cc", ".h"):
                yield path.relative_to(root)


def rule_ids(root):
    return {path.stem for kind in ("causes", "fixes", "myths") for path in (root / "rules" / kind).glob("*.toml")}


def check_include(root, path, stage, quoted, angled):
    """The breach of one include line, or None."""
    name = quoted or angled
    if quoted:
        if not (root / "src" / quoted).is_file() and not (root / "src" / (quoted + ".in")).is_file():
            return f'"{quoted}" is not a file under src/; includes are written from there'
        target = Path(quoted).parts[0]
        if target not in MAY_INCLUDE[stage]:
            return f'{stage} may not include {target} ("{quoted}")'
    elif stage == "oomdoctor" and ("/" in name or name.endswith(".h")):
        return f"a public header includes <{name}>"
    for library, (pattern, stages, headers) in LIBRARIES.items():
        if not re.match(pattern, name):
            continue
        if path.suffix == ".h" and str(path.relative_to("src")) not in headers:
            return f"{library} in a header (<{name}>)"
        if stage not in stages:
            return f"{library} does not belong in {stage} (<{name}>)"
    return None


def check_file(root, path, ids):
    stage = stage_of(path)
    if stage not in MAY_INCLUDE:
        yield 1, f"no stage: known are {', '.join(MAY_INCLUDE)}"
        return
    if stage == "parsers" and path.suffix == ".h":
        yield 1, "parsers/ holds no headers; shared readers live in src/read"
    allowed = {word for (place, word) in ORDINARY_WORDS if str(path).startswith(place)}
    if stage == "parsers":
        allowed.add(path.stem)  # a parser states its own name
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
        include = _INCLUDE.match(line)
        if include:
            breach = check_include(root, path, stage, *include.groups())
            if breach:
                yield number, breach
            continue
        if stage in BEHIND_SCAN and str(path) not in MAY_READ_TEXT and _READS_TEXT.search(line):
            yield number, "this reads the text of a line; let its parser set what it means (OomTrait)"
        for word in _STRING.findall(line):
            if word in ids and word not in allowed:
                yield number, f'"{word}" is a rule\'s id; say it in rules/, or give the fact another name'


def unused_exemptions(root, ids):
    """Exemptions that exempt nothing would hide a breach to come."""
    for place, word in ORDINARY_WORDS:
        files = [path for path in sources(root) if str(path).startswith(place)]
        used = any(f'"{word}"' in (root / path).read_text(encoding="utf-8") for path in files)
        if word in ids and not used:
            yield f'tests/layering/layering.py: the exemption of "{word}" in {place} is not needed'


def map_breaches(root):
    """Files that the map does not name, and names of the map that are not files."""
    mapped = {}
    stage = None
    for number, line in enumerate((root / "src/README.md").read_text(encoding="utf-8").splitlines(), 1):
        if heading := _MAP_STAGE.match(line):
            stage = heading[1]
        elif name := _MAP_NAME.match(line):
            mapped[f"{stage}/{name[1]}"] = number
    files = {str(path.relative_to("src").with_suffix("")) for path in sources(root) if path.parts[0] == "src"}
    files |= {str(path.relative_to(root / "src")).split(".")[0] for path in (root / "src").glob("*/*.h.in")}
    files.discard("diagnose")
    for name in sorted(files - mapped.keys()):
        yield f"src/README.md: the map does not name {name}"
    for name in sorted(mapped.keys() - files):
        yield f"src/README.md:{mapped[name]}: there is no {name}"


def defined_types(text):
    """Each type that a source defines, as (offset, name, meaning). A forward declaration defines none, and an alias of a
    type of the same name adds no meaning. The meaning of an alias is what it stands for, that of a nested type which is
    defined outside of its owner is its full name, and "" is that of any other type, which has one definition."""
    code = _NO_CODE.sub(lambda part: re.sub(r"[^\n]", " ", part[0]), text)
    for found in _TYPE.finditer(code):
        qualified, name = found.groups()
        yield found.start(), name, qualified if qualified != name else ""
    for found in _ALIAS.finditer(code):
        name, aliased = found[1], " ".join(found[2].split())
        if aliased.split("<")[0].split("::")[-1] != name:
            yield found.start(), name, aliased


def second_meanings(root):
    """Definitions of a type whose name another type of the library has."""
    known = {}
    for path in sources(root):
        text = (root / path).read_text(encoding="utf-8")
        for offset, name, meaning in sorted(defined_types(text)):
            place = f"{path}:{text.count(chr(10), 0, offset) + 1}"
            meaning = meaning or place
            first_meaning, first_place = known.setdefault(name, (meaning, place))
            if meaning != first_meaning and name not in SHARED_TYPE_NAMES:
                yield f"{place}: {name} is also a type of {first_place}; give each the noun of its own thing"


def breaches(root):
    ids = rule_ids(root)
    for path in sources(root):
        for line, text in check_file(root, path, ids):
            yield f"{path}:{line}: {text}"
    yield from unused_exemptions(root, ids)
    yield from map_breaches(root)
    yield from second_meanings(root)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = sum(1 for _ in sources(root))
    if files == 0 or not rule_ids(root):
        print(f"{root}: no sources or no rules; is this the project's root?")
        return 2
    found = list(breaches(root))
    print("\n".join(found) if found else f"{files} files keep the layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
