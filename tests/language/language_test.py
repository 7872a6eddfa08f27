"""The words of the rules, the Markdown pages, the program and its comments: no word of the list, no blank in front of a per cent sign, no sentence
of more than 30 words. Rules also have the forms that the report expects."""
import pathlib
import re
import shutil
import subprocess
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTENCES = ("title", "explain", "why", "impossible", "because", "verify", "no_fix", "formula")
MOST_WORDS = 30

# Idiom of another language or of another century, each with the words to write in its place.
AVOIDED = {
    # Data does not speak.
    r"\btold\b|\btells\b": "shows, prints, reports",
    r"\b(is|are|was|were) (not )?(said|asked)\b": "name the actor: the report says",
    r"\basked (for|of)\b": "requested",
    # A text contains words; a process holds memory.
    r"\b(archive|block|document|file|folder|header|line|log|message|page|part|report|section|sentence|table|text|traceback)s? "
    r"(that )?(hold|holds|held)\b": "contains",
    # Idiom.
    r"\bstand(s|ing)?\b": "is",
    r"\b(lay|lie|lies|lying|lain) idle\b": "was unused",
    r"\bshall\b": "must, should",
    r"\bwant of\b": "for lack of, without",
    r"\bof (its|their) own\b": "its own",
    r"\bwhoever\b": "name the one who is meant",
    r"\bwhat is behind\b": "the cause",
    r"\bthat much\b": "the amount",
    r"\bdear\b": "expensive",
    r"\b(go|goes|going|gone|went) round\b": "avoid",
    r"\b(be|been|gave|gives?|giving|given)( \w+)? back\b|\bto be given\b": "freed, returned",
    r"\bby hand\b": "manually",
    r"\b(runs?|jobs?) (that|which) (still )?lives?\b|\bstill lives?\b": "still running",
    r"(?<!of )\bcourse\b": "trend",
    r"\bsurer\b": "to narrow it down; more certain",
    r"^not \w+:": "a heading that starts with Not: Won't help",
    r"\b(die|dies|died|dying) (of|for) memory\b": "ran out of memory",
    r"\bwent on\b": "continued",
    # Habits of another language.
    r"\bin place of\b": "instead of",
    r"\bbeside\b": "next to, with",
    r"\bbehind\b": "after, below",
    r"\babove all\b": "especially",
    r", too\b(?! (few|little|many|much)\b)": "also",
    r"(?<!there )\b(is|are) no (?!(longer|larger|more|less|better|other|such|one|worse|further|different|sooner)\b)\w": "is not a",
    r"\bof (images|text|words|numbers) alone\b|\balone(?=[.;:)]|$)": "only, by itself",
    r"\bcompaction (would|could)\b": "the free pieces together would",
    r"\bwould have served\b|\bin the usual one\b|\bis unexplained\b": "say what the reader sees",
    # One term for one thing.
    r"\blive tensors\b": "tensors",
    r"\bcards?\b": "GPU",
    r"\bhost memory\b|\bmemory of the host\b": "host RAM",
}
# Names and phrases that such words belong to, each with its reason.
EXCEPTIONS = {
    r"\bpinned (\(page-locked\) )?host memory\b": "the field's term for page-locked memory",
    r"\bpage-locked host memory\b": "the same",
    r"\b(leave|leaves|leaving|left)\b[^.]*? behind\b|\bfar behind\b|\bdrawn behind\b|\blook behind\b|\ballocator behind\b": "a place",
    r"\babove all (earlier|memory)\b": "a comparison",
    r"\b(is|are) no (proof|evidence)\b": "a term of its own",
}

# Pages whose words come from elsewhere: printed by the program, or the approved output of a test.
NO_PROSE = re.compile(r"docs/formats\.md|tests/")


def texts(table, path=()):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from texts(value, (*path, key))
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from texts(item, (*path, key))
        elif key in SENTENCES and isinstance(value, str):
            yield key, value


def rules():
    """(place, key, text) of every text of a rule."""
    for path in sorted((ROOT / "rules").glob("*/*.toml")):
        name = path.relative_to(ROOT).as_posix()
        for key, text in texts(tomllib.loads(path.read_text())):
            yield f"{name}, {key}", key, text


def pages():
    """The Markdown pages of the tree: what git lists, or all outside of builds where there is no git."""
    listed = []
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    names = listed or [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.md")]
    return sorted(name for name in names if not NO_PROSE.match(name) and not name.startswith((".", "build/"))
                  and (ROOT / name).is_file())


def plain(text):
    """Markdown of one paragraph as words: code is one word, a link is its text."""
    text = re.sub(r"(`+).+?\1", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"\1", text)
    text = re.sub(r"<!--.*?-->|</?\w+[^>]*>|https?://\S+", " ", text)
    return re.sub(r"\*\*|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)", "", text).strip()


def paragraphs(page):
    """(line, text) of each paragraph, item of a list, heading and cell of a table. Code blocks are left out."""
    kept, first, fence = [], 0, False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        fenced = line.lstrip().startswith("```")
        cells = line.strip().startswith("|")
        heading = re.match(r"#+ ", line)
        item = re.match(r"\s*([-*+]|\d+\.) ", line)
        if kept and (fenced or fence or cells or heading or item or not line.strip()):
            yield first, plain(" ".join(kept))
            kept = []
        fence ^= fenced
        if fence or fenced or not line.strip():
            continue
        if cells:
            row = re.sub(r"(`+).+?\1", "X", line).replace(r"\|", " ").strip().strip("|")
            yield from ((number, plain(cell)) for cell in row.split("|") if not re.fullmatch(r"[\s:-]*", cell))
        elif heading:
            yield number, plain(line[heading.end():])
        else:
            first = first if kept else number
            kept.append(line[item.end():] if item else line.strip())


TOKEN = re.compile(r'R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\''
                   r"|//[^\n]*|/\*.*?\*/|(?P<blank>\s+)|(?P<code>.)", re.DOTALL)


# Formulas, markup and scripts.
NO_SENTENCE = re.compile(r"\\n|<\w|\| | [−÷=] |limit_reached")


def literals(code):
    """The string literals of C++ code, those side by side as one. Raw ones are patterns and examples: left out."""
    text = None
    for token in TOKEN.finditer(code):
        if token["text"] is not None:
            text = (text or "") + token["text"]
        elif token["blank"] is None:
            if text is not None:
                yield text
            text = None


def messages():
    """(place, text) of every literal of three words and more in the code that writes for people."""
    for path in sorted([*(ROOT / "src").rglob("*.cc"), *(ROOT / "src").rglob("*.h")]):
        for text in literals(path.read_text(encoding="utf-8")):
            if len(text.split()) >= 3 and not NO_SENTENCE.search(text):
                yield path.relative_to(ROOT).as_posix(), re.sub(r"--card\b", "X", text)


# What comments may say: they talk to a reader of the code about what it takes and how a test was computed.
IN_COMMENTS = {r"\basked (for|of)\b", r"\bby hand\b", r"\bof (its|their) own\b", r"\bthat much\b", r"\bcards?\b",
               r"\bhost memory\b|\bmemory of the host\b", r"^not \w+:",
               r"\bof (images|text|words|numbers) alone\b|\balone(?=[.;:)]|$)"}


def comments():
    """(place, text) of every comment of the code, its lines joined."""
    for folder in ("src", "parsers", "tests"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix not in (".cc", ".h"):
                continue
            name, block = path.relative_to(ROOT).as_posix(), []
            for token in TOKEN.finditer(path.read_text(encoding="utf-8")):
                if token[0].startswith("//"):
                    block.append(token[0].lstrip("/< "))
                elif token["blank"] is None and block:
                    yield name, " ".join(block)
                    block = []


def prose():
    """(place, text) of every text of the Markdown pages."""
    for name in pages():
        for number, text in paragraphs((ROOT / name).read_text(encoding="utf-8")):
            yield f"{name}:{number}", text


def avoided_words(text, allowed=()):
    for exception in EXCEPTIONS:
        text = re.sub(exception, "X", text, flags=re.IGNORECASE)
    for avoided, instead in AVOIDED.items():
        if avoided in allowed:
            continue
        if found := re.search(avoided, text, re.IGNORECASE):
            yield f"'{found[0]}'; write: {instead}"


def long_sentences(text, most=MOST_WORDS):
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        words = re.sub(r"\{[^}]*\}", "X", sentence).split()
        if len(words) > most:
            yield f"{len(words)} words: {sentence}"


class Everywhere(unittest.TestCase):
    """Rules, pages and what the program prints."""

    def assert_none(self, faults):
        faults = list(faults)
        self.assertFalse(faults, "\n" + "\n".join(faults))

    def all_texts(self):
        yield from ((place, text) for place, _, text in rules())
        yield from prose()
        yield from messages()

    def test_words(self):
        self.assert_none(f"{place}: {fault}" for place, text in self.all_texts() for fault in avoided_words(text))

    def test_words_of_comments(self):
        self.assert_none(f"{place}: {fault}\n    {text}" for place, text in comments()
                         for fault in avoided_words(text, IN_COMMENTS))

    def test_a_per_cent_sign_follows_its_number(self):
        self.assert_none(f"{place}: {text}" for place, text in self.all_texts() if re.search(r"[\d}] %", text))

    def test_sentences_are_short(self):
        self.assert_none(f"{place}: {fault}" for place, text in self.all_texts() for fault in long_sentences(text))


class Rules(unittest.TestCase):
    def test_titles_are_headings(self):
        for place, key, text in rules():
            if key.startswith("title"):
                self.assertLessEqual(len(text), 70, place)
                self.assertFalse(text.endswith("."), place)

    def test_reasons_and_proofs_are_clauses(self):
        """The report prints them after "because" and "Fixed when:"."""
        for place, key, text in rules():
            if key == "verify" or (key == "why" and place.startswith("rules/causes/")):
                self.assertFalse(text.endswith("."), f"{place}: {text}")


class Pages(unittest.TestCase):
    def test_they_are_found(self):
        self.assertLessEqual({"README.md", "CONTRIBUTING.md", "docs/usage.md", "packaging/ci/README.md", "src/README.md"},
                             set(pages()))
        self.assertNotIn("docs/formats.md", pages())

    def test_code_and_links_are_no_prose(self):
        page = "# A `told` heading\n\nOne [link told](tells.md)\nand `code %` more.\n```sh\ntold\n```\n* item\n  goes on\n| a | `x|y` b |\n|---|---|\n"
        self.assertEqual(list(paragraphs(page)), [(1, "A X heading"), (3, "One link told and X more."), (8, "item goes on"),
                                                  (10, "a"), (10, "X b")])


if __name__ == "__main__":
    unittest.main()
