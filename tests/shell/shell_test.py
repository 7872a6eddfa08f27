"""The completions in the shells themselves, and the manual page before its readers. OOMDOCTOR_BINARY names the program.

bash runs the completion function with the words that it would have split, zsh completes in a terminal, fish tells what it
would offer. In all three the same lines must complete to the same words.
"""
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pseudo_terminal  # noqa: E402

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))

# What is typed, and the one word that it may become.
UNIQUE = (
    ("oomdoctor anal", "analyze"),
    ("oomdoctor compl", "completions"),
    ("oomdoctor help estim", "estimate"),
    ("oomdoctor schema par", "partial"),
    ("oomdoctor surv", "survey"),
    ("oomdoctor survey --format h", "html"),
    ("oomdoctor list my", "myths"),
    ("oomdoctor analyze --fail", "--fail-on"),
    ("oomdoctor compare --fail", "--fail-if"),
    ("oomdoctor estimate --lora-t", "--lora-targets"),
    ("oomdoctor analyze --format mark", "markdown"),
    ("oomdoctor list --format ma", "markdown"),
    ("oomdoctor estimate --optimizer Li", "Lion"),
    ("oomdoctor estimate --model Mixtral-8x22", "Mixtral-8x22B"),
    ("oomdoctor explain fragm", "fragmentation"),
    ("oomdoctor analyze one_l", "one_log.txt"),
    ("oomdoctor analyze --format-file my_f", "my_formats.toml"),
    ("oomdoctor analyze --rules my_r", "my_rules"),
    ("oomdoctor estimate --model mixtral-8x22", "mixtral-8x22b"),
    ("oomdoctor estimate --card a100-8", "a100-80g"),
    ("oomdoctor estimate --gpu 409", "4090"),
    ("oomdoctor list gp", "gpus"),
    # Without a command, as analyze.
    ("oomdoctor --qui", "--quiet"),
    ("oomdoctor --versi", "--version"),
    ("oomdoctor -v --fail", "--fail-on"),
    ("oomdoctor --format mark", "markdown"),
    ("oomdoctor one_l", "one_log.txt"),
    ("oomdoctor -v one_l", "one_log.txt"),
)


def printed(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=60, check=True).stdout


class Shell(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "oomdoctor").symlink_to(BINARY)
        (self.folder / "one_log.txt").write_text("step 1\n")
        (self.folder / "my_formats.toml").write_text("")
        (self.folder / "my_rules").mkdir()
        self.environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder),
                            "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def run_here(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout


class Bash(Shell):
    def offers(self, line):
        """bash breaks words at "=" before it asks."""
        words = re.findall(r"=|[^ =]+", line) + ([""] if line.endswith(" ") else [])
        script = "source <(oomdoctor completions bash)\n" \
                 f"COMP_WORDS=({' '.join(repr(word) for word in words)}) COMP_CWORD={len(words) - 1}\n" \
                 "_oomdoctor\nprintf '%s\\n' \"${COMPREPLY[@]}\""
        return self.run_here("bash", "--norc", "-c", script).split()

    def test_one_word(self):
        for line, word in UNIQUE:
            self.assertEqual(self.offers(line), [word], line)

    def test_all_words(self):
        self.assertEqual(self.offers("oomdoctor completions "), ["bash", "zsh", "fish"])
        self.assertEqual(self.offers("oomdoctor analyze --fail-on="), ["error", "warning", "never"])
        self.assertEqual(self.offers("oomdoctor analyze --fail-on=warn"), ["warning"])
        self.assertEqual(self.offers("oomdoctor estimate --format "), ["terminal", "json"])
        self.assertEqual(self.offers("oomdoctor analyze --output mark"), ["markdown="])
        self.assertEqual(self.offers("oomdoctor analyze --output json=one"), ["one_log.txt"])
        self.assertEqual(self.offers("oomdoctor survey --output "), ["terminal=", "json=", "jsonl=", "html="])
        self.assertEqual(self.offers("oomdoctor analyze --capacity "), [])
        self.assertIn("compare", self.offers("oomdoctor "))
        self.assertEqual(self.offers("oomdoctor estimate --card 3090"), ["3090-ti", "3090"])
        self.assertIn("llama-3-8b", self.offers("oomdoctor estimate --model llama-3"))
        self.assertIn("Llama-3-8B", self.offers("oomdoctor estimate --model Llama-3"))
        self.assertFalse([name for name in self.offers("oomdoctor estimate --model ") if name != name.lower()])

    def test_it_is_wired_to_the_program(self):
        script = "source <(oomdoctor completions bash); complete -p oomdoctor"
        self.assertEqual(self.run_here("bash", "--norc", "-c", script), "complete -F _oomdoctor oomdoctor\n")


class Fish(Shell):
    def test_one_word(self):
        for line, word in UNIQUE:
            told = self.run_here("fish", "--no-config", "-c",
                                 f"oomdoctor completions fish | source; complete -C '{line}'")
            self.assertEqual([row.split("\t")[0].rstrip("/") for row in told.splitlines()], [word], line)


class Zsh(Shell):
    def setUp(self):
        super().setUp()
        (self.folder / "functions").mkdir()
        (self.folder / "functions" / "_oomdoctor").write_text(printed("completions", "zsh"))
        self.process, self.terminal = self.start()
        self.addCleanup(self.process.wait, 10)
        self.addCleanup(os.close, self.terminal)
        # Ctrl-X shows the line as it stands, and empties it.
        self.type("PS1= PS2= fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; bindkey -e\n"
                  "show() { print -r -- \"<$BUFFER>\"; BUFFER= }; zle -N show; bindkey '^X' show; print rea''dy\n")
        self.read_until("ready")

    def start(self):
        ours, theirs = pseudo_terminal.opened()
        process = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.folder,
                                   env=self.environment, start_new_session=True)
        os.close(theirs)
        return process, ours

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, end):
        seen, deadline = "", time.monotonic() + 30
        while not re.search(end, seen):
            self.assertGreater(deadline, time.monotonic(), f"no {end!r} in {seen!r}")
            if select.select([self.terminal], [], [], 1)[0]:
                seen += os.read(self.terminal, 4096).decode(errors="replace")
        return seen

    def test_one_word(self):
        for line, word in UNIQUE:
            self.type(line + "\t\x18")
            seen = self.read_until(r"<(oomdoctor [^>]*)>")
            completed = re.search(r"<(oomdoctor [^>]*)>", seen)[1]
            self.assertEqual(re.split(r"[ =]+", completed.rstrip(" =/"))[-1], word, seen)
        self.type("exit\n")

    def test_a_report_and_its_file(self):
        for line, full in (("oomdoctor analyze --output mark", "markdown="), ("oomdoctor survey --output ht", "html="),
                           ("oomdoctor survey --output html=one", "html=one_log.txt")):
            self.type(line + "\t\x18")
            seen = self.read_until(r"<(oomdoctor [^>]*)>")
            self.assertEqual(re.search(r"<(oomdoctor [^>]*)>", seen)[1].split()[-1], full, seen)
        self.type("exit\n")


class ManualPage(Shell):
    def setUp(self):
        super().setUp()
        (self.folder / "oomdoctor.1").write_text(printed("man"))

    def test_mandoc_and_groff_have_nothing_to_say(self):
        self.assertEqual(self.run_here("mandoc", "-Tlint", "-Wall", "oomdoctor.1"), "")
        self.run_here("man", "--warnings", "-l", "-Tutf8", "-Z", "oomdoctor.1")

    def test_it_tells_of_every_command_and_option(self):
        page = self.run_here("mandoc", "-Tascii", "oomdoctor.1")
        page = re.sub(r".\x08", "", page)  # bold and underlined
        for command in re.findall(r"(?m)^  oomdoctor (\w+)", printed("--help")):
            self.assertRegex(page, rf"(?m)^   {command}\b")
            for option in re.findall(r"--[a-z][a-z-]+", printed(command, "--help").split("\n\n", 2)[2]):
                self.assertRegex(page, rf"(?m)^       (-\w, )?{option}\b", command)
        for name in ("sarif", "junit", "gitlab", "jsonl", "k8s", "prometheus", "partial"):
            self.assertRegex(page, rf"(?m)^       {name}( |$)")

    def test_each_help_fits_a_screen(self):
        for words in ([], *([c] for c in re.findall(r"(?m)^  oomdoctor (\w+)", printed("--help")))):
            lines = printed(*words, "--help").splitlines()
            self.assertLessEqual(len(lines), 40, words)
            self.assertLessEqual(max(map(len, lines)), 80, words)
            self.assertFalse([line for line in lines if line != line.rstrip()], words)


if __name__ == "__main__":
    unittest.main()
