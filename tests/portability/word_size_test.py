"""The library compiles for machines with 32-bit addresses, as a browser is one: no size is cut, and no shift is wider than its
number. Each file of the build is compiled with the build's own warnings as errors. Needs Debian's
lib32stdc++-12-dev and libc6-dev-i386.

Usage: word_size_test.py [TARGET...]   compiles only the files of these targets, such as oomdoctor_text
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("OOMDOCTOR_BINARY", "build/quick/oomdoctor")).resolve().parent
# Debian's gcc-multilib would link the kernel's headers, which are the same for both sizes, but it excludes cross compilers.
NARROW = ["-m32", "-D_FILE_OFFSET_BITS=64", "-c", "-O0", "-o", "/dev/null", "-idirafter", "/usr/include/x86_64-linux-gnu"]
# What needs Linux, and what only runs on the machine of the build.
NOT_LIBRARY = ("run", "mcp", "tests", "compiler", "planner", "leave_one_out", "bench", "fuzz", "targets", "faults")
SKIPPED = 77


def is_wanted(words):
    """By the target that a compiler's command belongs to, "oomdoctor_text"; "oomdoctor" is the program.

    A precompiled header is none of its files: each of them includes its text.
    """
    if "c++-header" in words:
        return False
    target = re.search(r"CMakeFiles/(\w+)\.dir/", words[words.index("-o") + 1])[1]
    if len(sys.argv) > 1:
        return target in sys.argv[1:]
    return target.startswith("oomdoctor_") and not target.endswith(NOT_LIBRARY)


def drop(words, at, number):
    return words[:at] + words[at + number:]


def compile_narrow(words):
    words = [word for word in drop(words, words.index("-o"), 2)
             if word not in ("-c", "-Winvalid-pch") and not word.startswith("-fsanitize")]
    if "-include-pch" in words:  # clang's, which was compiled for the machine: "-Xclang -include-pch -Xclang FILE"
        words = drop(words, words.index("-include-pch") - 1, 4)  # the text of the header is included too
    done = subprocess.run([*words, *NARROW], cwd=BUILD, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    probe = subprocess.run(["g++", *NARROW, "-x", "c++", "-"], input="#include <cerrno>\n#include <string>\n",
                           capture_output=True, text=True)
    if probe.returncode:
        print("skipped: the headers for 32-bit programs are missing, Debian's lib32stdc++-12-dev and libc6-dev-i386")
        return SKIPPED
    commands = [shlex.split(entry["command"]) for entry in json.loads((BUILD / "compile_commands.json").read_text())]
    wanted = [words for words in commands if is_wanted(words)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for fault in pool.map(compile_narrow, wanted) if fault]
    print("\n".join(faults) or f"{len(wanted)} files compile for 32-bit addresses")
    return 1 if faults or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
