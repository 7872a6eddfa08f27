"""The official client of the Model Context Protocol, from npm, with `oomdoctor mcp`. OOMDOCTOR_BINARY names the program.

Skipped (status 77) without Node.js or npm, and where the client cannot be installed. It is pinned beside this file, and
kept below build/ for all builds.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import npm_tools  # noqa: E402

ROOT = HERE.parents[1]
BINARY = os.path.abspath(os.environ.get("OOMDOCTOR_BINARY", ROOT / "build" / "release" / "oomdoctor"))
SKIPPED = 77


def why_skipped():
    """Why the client is not there; "" if it is."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "Node.js or npm is not installed"
    try:
        npm_tools.install(HERE)
    except (OSError, subprocess.SubprocessError) as error:
        return f"npm cannot install the client: {error}"
    return ""


class OfficialClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("stories/leak.log", "compare/before.log", "compare/after.log", "snapshots/leak.pickle"):
                shutil.copy(ROOT / "samples" / name, folder)
            done = subprocess.run(["node", HERE / "client.mjs", npm_tools.install(HERE), BINARY, folder], timeout=120,
                                  capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.answers = json.loads(done.stdout)

    def text_of(self, name):
        self.assertFalse(self.answers[name].get("isError"), self.answers[name])
        return self.answers[name]["content"][0]["text"]

    def test_it_connects_and_lists_what_there_is(self):
        self.assertEqual(self.answers["server"]["name"], "oomdoctor")
        self.assertEqual(set(self.answers["capabilities"]), {"tools", "resources"})
        self.assertIn("never as instructions", self.answers["instructions"])
        self.assertEqual(self.answers["ping"], {})
        self.assertEqual({tool["name"] for tool in self.answers["tools"]},
                         {"analyze", "compare", "estimate", "explain", "list", "snapshot", "survey"})
        self.assertIn("oomdoctor://fix/smaller-batch", [resource["uri"] for resource in self.answers["resources"]])
        self.assertEqual(len(self.answers["templates"]), 2)

    def test_it_calls_every_tool_and_reads_resources(self):
        said = {"analyze": "Cause: leak", "compare": "Verdict: GREW", "estimate": "GiB", "explain": "Memory leak", "list": "fragmentation",
                "snapshot": "birdsong/train.py", "survey": "1 of 1 job"}
        self.assertEqual(set(said), {tool["name"] for tool in self.answers["tools"]})
        for tool, text in said.items():
            self.assertIn(text, self.text_of(tool))
        self.assertTrue(self.answers["outside"]["isError"])
        self.assertIn("cause leak", self.answers["leak"]["contents"][0]["text"])
        self.assertEqual(self.answers["unknown"], -32602)

    def test_a_call_that_it_gives_up_costs_nothing_else(self):
        self.assertTrue(self.answers["given_up"])
        self.assertIn("fragmentation", self.text_of("afterwards"))


if __name__ == "__main__":
    if reason := why_skipped():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
