"""Starts a page oomdoctor.html in a browser made of Chromium, without what only Linux has: starts.py BROWSER PAGE. The program of
the page has to start."""
import pathlib
import re
import subprocess
import sys
import tempfile

browser, page = sys.argv[1:]
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}",
                           "--virtual-time-budget=60000", "--dump-dom", pathlib.Path(page).resolve().as_uri()],
                          capture_output=True, encoding="utf-8", timeout=300, check=False)
started = re.search(r'<main id="start" data-version="([^"]+)">', done.stdout)
if not started:
    sys.exit(f"the program of the page did not start: {done.returncode}\n{done.stdout[:2000]}\n{done.stderr[-2000:]}")
print(f"the page has started oomdoctor {started[1]}")
