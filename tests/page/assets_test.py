"""What the build embeds in the HTML report: src/cmake/PageAssets.cmake, with stand-ins for npm."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Does what `npm ci` does for one package, and only where it is asked to take the versions of the lock file.
WORKING = """#!/bin/sh
test "$1" = ci && test -f package-lock.json || exit 1
mkdir -p node_modules/uplot/dist
echo 'Permission is granted' > node_modules/uplot/LICENSE
echo 'var uPlot = 1;' > node_modules/uplot/dist/uPlot.iife.min.js
echo '.u-over {}' > node_modules/uplot/dist/uPlot.min.css
"""
UNREACHABLE = """#!/bin/sh
echo 'npm ERR! network request failed' >&2
exit 1
"""


class PageAssets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def embed(self, npm=""):
        """npm: a script; "" for none."""
        program = ""
        if npm:
            program = self.folder / "npm"
            program.write_text(npm)
            program.chmod(0o755)
        output = self.folder / "assets.cc"
        done = subprocess.run(
            ["cmake", "-D", f"PAGE={ROOT / 'src/report/page'}", "-D", f"WORK={self.folder / 'work'}", "-D",
             f"OUTPUT={output}", "-D", f"NPM={program}", "-P", ROOT / "src/cmake/PageAssets.cmake"],
            capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
        return done, output.read_text() if output.exists() else ""

    def test_nothing_is_fetched_where_nobody_asks(self):
        done, source = self.embed()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.folder / "work").exists())
        self.assertNotIn("Permission is granted", source)
        self.assertIn("shipped_page_assets()", source)

    def test_the_library_comes_with_its_licence(self):
        done, source = self.embed(WORKING)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Permission is granted", source)
        self.assertIn("var uPlot = 1;", source)
        self.assertEqual(source.count("sha256-"), 3)

    def test_a_library_that_was_asked_for_and_cannot_be_had_ends_the_build(self):
        done, source = self.embed(UNREACHABLE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("network request failed", done.stderr)
        self.assertIn("OOMDOCTOR_PAGE_ZOOM", done.stderr)
        self.assertEqual(source, "")


if __name__ == "__main__":
    unittest.main()
