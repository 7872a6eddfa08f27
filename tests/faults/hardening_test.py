"""The program as it is shipped: what the compiler and the linker put into it against defects, and what it does where the
machine has no memory left. OOMDOCTOR_BINARY names it.
"""
import os
import pathlib
import platform
import re
import resource
import subprocess
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"

BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", "build/release/oomdoctor"))


MAP = pathlib.Path(f"{BINARY}.map")  # of a program without symbols: what the linker put into it


def elf(*options):
    return subprocess.run(["readelf", "--wide", *options, BINARY], capture_output=True, text=True, check=True).stdout


class Hardening(unittest.TestCase):
    def test_it_can_be_loaded_anywhere(self):
        self.assertRegex(elf("--file-header"), r"Type: +DYN")
        self.assertIn("PIE", elf("--dynamic"))

    def test_nothing_that_the_loader_wrote_can_be_overwritten(self):
        self.assertIn("GNU_RELRO", elf("--program-headers"))
        self.assertRegex(elf("--dynamic"), r"BIND_NOW|\bNOW\b")

    def test_no_page_is_both_written_and_executed(self):
        segments = re.findall(r"^ +(LOAD|GNU_STACK) .* ([RWE ]{3}) 0x", elf("--program-headers"), re.M)
        self.assertTrue(segments)
        for kind, rights in segments:
            self.assertFalse("W" in rights and "E" in rights, (kind, rights))

    def test_stack_and_copies_are_checked(self):
        symbols = MAP.read_text() if MAP.exists() else elf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertRegex(symbols, r"__mem(cpy|move|set)_chk")

    @unittest.skipUnless(platform.machine() == "x86_64", "a feature of this architecture")
    def test_calls_land_where_they_may(self):
        part = ["--disassemble", "--section=.text"] if MAP.exists() else ["--disassemble=main"]
        code = subprocess.run(["objdump", *part, BINARY], capture_output=True, text=True, check=True).stdout
        self.assertGreater(code.count("endbr64"), 1000 if MAP.exists() else 0)


class LittleMemory(unittest.TestCase):
    """Of address space; each limit is where something else fails."""

    def run_in(self, mebibytes, *words):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

        return subprocess.run([BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              preexec_fn=limit)

    def test_it_ends_with_a_sentence_or_with_a_report(self):
        least = next(m for m in range(4, 200) if self.run_in(m, "--version").returncode == 0)
        ended = []
        for mebibytes in range(least, least + 30):
            for words in (["--format", "json"], ["--format", "html", "--jobs", "2"], ["--format", "partial"], []):
                done = self.run_in(mebibytes, "analyze", str(SAMPLES / "stories" / "leak.log"), *words)
                with self.subTest(mebibytes=mebibytes, words=words):
                    self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                    if done.returncode == 2:
                        self.assertEqual(done.stderr, "oomdoctor: there is not enough memory for this; --jobs 1 takes the "
                                                      "least\n")
                ended.append(done.returncode)
        self.assertIn(2, ended)
        self.assertIn(1, ended)


if __name__ == "__main__":
    unittest.main()
