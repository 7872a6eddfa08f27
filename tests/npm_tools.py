"""Tools from npm that tests need, as pinned by a package-lock.json beside the test. They are kept below build/ for all
builds, and installed again when the lock file changes."""
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def install(folder):
    """The node_modules of what `folder` pins."""
    folder = pathlib.Path(folder)
    kept = ROOT / "build" / "npm" / folder.name
    lock = (folder / "package-lock.json").read_bytes()
    done = kept / "installed"
    if not (done.exists() and done.read_bytes() == lock):
        kept.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, kept / name)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=kept, check=True, timeout=300)
        done.write_bytes(lock)
    return kept / "node_modules"
