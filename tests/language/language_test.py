"""How the rules speak: no word of the list, no blank in front of a per cent sign, no sentence of more than 30 words, the
forms that the report expects."""
import pathlib
import re
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTENCES = ("title", "title_of_use", "explain", "why", "impossible", "held_back", "because", "verify", "no_fix", "formula")

# Idiom of another language or of another century, each with what to write in its place.
AVOIDED = {
    r"\btold\b|\btells\b": "shows, reports", r"\bstands?\b": "is", r"\b(lay|lie|lies) idle\b": "was unused",
    r"\bshall\b": "must, should", r"\bfor want of\b": "for lack of, without", r"\bof its own\b": "its own",
    r"\bwhoever\b": "whoever is meant", r"\bgiven back\b": "freed", r"\basked for\b": "requested",
    r"\blive tensors\b": "tensors", r"\bto be surer\b": "to narrow it down", r"\bthe card\b": "the GPU",
    r"\bhost memory\b": "host RAM",
}
# Rules that keep such words, because they are names: pinned host memory.
EXCEPTIONS = {"causes/pinned_memory.toml"}


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


def words_of(sentence):
    return re.sub(r"\{[^}]*\}", "X", sentence).split()


class Rules(unittest.TestCase):
    def all_texts(self):
        for path in sorted((ROOT / "rules").glob("*/*.toml")):
            name = path.relative_to(ROOT / "rules").as_posix()
            for key, text in texts(tomllib.loads(path.read_text())):
                if name not in EXCEPTIONS:
                    yield name, key, text

    def test_words(self):
        for name, key, text in self.all_texts():
            for avoided, instead in AVOIDED.items():
                found = re.search(avoided, text, re.IGNORECASE)
                self.assertIsNone(found, f"rules/{name}, {key}: '{found and found[0]}'; write: {instead}")

    def test_a_per_cent_sign_follows_its_number(self):
        for name, key, text in self.all_texts():
            self.assertNotRegex(text, r"[\d}] %", f"rules/{name}, {key}")

    def test_sentences_are_short(self):
        for name, key, text in self.all_texts():
            for sentence in re.split(r"(?<=[.!?])\s+", text):
                self.assertLessEqual(len(words_of(sentence)), 30, f"rules/{name}, {key}: {sentence}")

    def test_titles_are_headings(self):
        for name, key, text in self.all_texts():
            if key.startswith("title"):
                self.assertLessEqual(len(text), 70, f"rules/{name}")
                self.assertFalse(text.endswith("."), f"rules/{name}")

    def test_reasons_and_proofs_are_clauses(self):
        """They stand behind "because" and "Fixed when:"."""
        for name, key, text in self.all_texts():
            if key == "verify" or (key == "why" and name.startswith("causes/")):
                self.assertFalse(text.endswith("."), f"rules/{name}, {key}: {text}")


if __name__ == "__main__":
    unittest.main()
