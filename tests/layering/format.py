"""Whether every C++ file is laid out as .clang-format says. Needs clang-format 14, Debian 12's: other versions lay some
lines out differently. Without it, the exit status is 77.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "14"
FOLDERS = ("src", "parsers", "tests")


def find_formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        if shutil.which(name):
            text = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf"version {VERSION}\.", text):
                return name
    return None


def main():
    formatter = find_formatter()
    if formatter is None:
        print(f"clang-format {VERSION} is not installed")
        return 77
    files = sorted(path for folder in FOLDERS for end in ("cc", "h") for path in (ROOT / folder).rglob(f"*.{end}"))
    done = subprocess.run([formatter, "--dry-run", "-Werror", *files], capture_output=True, text=True, cwd=ROOT)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    for path in wrong:
        print(f"{pathlib.Path(path).relative_to(ROOT)}: {formatter} -i lays it out")
    print(f"{len(files)} files, {len(wrong)} laid out otherwise")
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
