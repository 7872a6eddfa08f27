"""Packs the static program: package.py BUILD OUT. Called by scripts/package, which explains what OUT then contains.

The bytes of each package depend on the program, the tree and SOURCE_DATE_EPOCH alone.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import archives
import image
import libraries
import registries

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The machine in the header of an ELF file, and the names of its architecture: of uname, npm, Debian and the images.
MACHINES = {62: ("x86_64", "x64", "amd64"), 183: ("aarch64", "arm64", "arm64")}


def architecture(program):
    return MACHINES[int.from_bytes(program[18:20], "little")]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def skills():
    """(name below share/, content) of what describes oomdoctor to coding agents."""
    return [(f"oomdoctor/agents/{name}", content) for name, content, _ in archives.files_below(ROOT / "packaging" / "agents")]


def wasm(out, version, epoch):
    """The files of the WebAssembly version in the package for npm, none if scripts/web has not built it. Writes the list of the
    libraries in it into OUT."""
    module = ROOT / "build" / "web" / "node"
    if not (module / "oomdoctor.wasm").exists():
        print("the package for npm has no WebAssembly version: scripts/web builds it", file=sys.stderr)
        return []
    packages = libraries.packages_of_wasm()
    name, content = f"oomdoctor-{version}-wasm", (module / "oomdoctor.wasm").read_bytes()
    write(out / f"{name}.spdx.json", libraries.bill_of_materials(
        "./node/oomdoctor.wasm", packages, name, version, epoch, hashlib.sha256(content).hexdigest()))
    return [("node/oomdoctor.js", (module / "oomdoctor.js").read_bytes(), False), ("node/oomdoctor.wasm", content, False),
            ("libraries.txt.gz", archives.gzipped(libraries.notices(packages).encode()), False)]


def staged(build, notices, stage):
    """The files as they lie below a prefix such as /usr, in `stage`."""
    generated = build / "generated"
    write(stage / "bin" / "oomdoctor", (build / "oomdoctor").read_bytes())
    (stage / "bin" / "oomdoctor").chmod(0o755)
    share = stage / "share"
    write(share / "man" / "man1" / "oomdoctor.1.gz", archives.gzipped((generated / "oomdoctor.1").read_bytes()))
    for source, target in (("bash/oomdoctor", "bash-completion/completions/oomdoctor"),
                           ("zsh/_oomdoctor", "zsh/site-functions/_oomdoctor"),
                           ("fish/oomdoctor.fish", "fish/vendor_completions.d/oomdoctor.fish")):
        write(share / target, (generated / source).read_bytes())
    for name, content in skills():
        write(share / name, content)
    documents = share / "doc" / "oomdoctor"
    for name in ("README.md", "LICENSE"):
        write(documents / name, (ROOT / name).read_bytes())
    write(documents / "libraries.txt.gz", archives.gzipped(notices.encode()))


def as_debian_has_it(share, version, epoch):
    """Its folder of zsh completions, and its documents in place of LICENSE."""
    (share / "zsh" / "site-functions").rename(share / "zsh" / "vendor-completions")
    documents = share / "doc" / "oomdoctor"
    (documents / "LICENSE").unlink()
    write(documents / "copyright", "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
          "Upstream-Name: oomdoctor\nSource: https://github.com/oomdoctor/oomdoctor\n\n"
          "Files: *\nCopyright: the oomdoctor authors\nLicense: Apache-2.0\n"
          " On Debian systems, /usr/share/common-licenses/Apache-2.0 contains the text.\n"
          "Comment: The program contains the libraries that libraries.txt.gz names with their licenses.\n")
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    write(documents / "changelog.Debian.gz", archives.gzipped(
        f"oomdoctor ({version}-1) stable; urgency=medium\n\n  * Release {version}.\n\n"
        f" -- The oomdoctor authors <oomdoctor@users.noreply.github.com>  {date}\n".encode()))


def native(kind, stage, version, machine, out, epoch):
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder, "tree")
        shutil.copytree(stage, tree / "usr")
        if kind == "DEB":
            as_debian_has_it(tree / "usr" / "share", version, epoch)
        for path in [*tree.rglob("*"), tree]:
            path.chmod(0o755 if path.is_dir() or path.name == "oomdoctor" and path.parent.name == "bin" else 0o644)
            os.utime(path, (epoch, epoch))
        written = pathlib.Path(folder, "out")
        settings = {"STAGE": tree, "VERSION": version, "ARCHITECTURE": machine, "OUT": written}
        lines = [*(f'set({name} "{value}")' for name, value in settings.items()),
                 f'include("{ROOT}/packaging/make/cpack.cmake")']
        write(pathlib.Path(folder, "config.cmake"), "\n".join(lines) + "\n")
        done = subprocess.run(
            ["cpack", "-G", kind, "--config", "config.cmake"], cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "HOME": folder})
        found = [*written.glob(f"*.{kind.lower()}")]
        if done.returncode != 0 or len(found) != 1:
            raise SystemExit(f"cpack made no .{kind.lower()}:\n{done.stdout}{done.stderr}")
        shutil.copyfile(found[0], out / found[0].name)


def recipes(version, checksums, out):
    """packaging/recipes/ with the version and the checksums of this release."""
    known = {"VERSION": version, **checksums}
    for name, content, _ in archives.files_below(ROOT / "packaging" / "recipes"):
        text = re.sub(r"@([A-Z0-9_]+)@", lambda m: known.get(m[1], "0" * 64), content.decode())
        write(out / "recipes" / name.replace("VERSION", version), text)


def package(build, out, epoch):
    version = re.search(r"^project\(oomdoctor VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    program = (build / "oomdoctor").read_bytes()
    uname, npm, debian = architecture(program)
    out.mkdir(parents=True, exist_ok=True)
    packages = libraries.packages_of(build)
    checksum = hashlib.sha256(program).hexdigest()
    name = f"oomdoctor-{version}-linux-{npm}"
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        notices = libraries.notices(packages)
        staged(build, notices, stage)
        files = [*archives.files_below(stage)]
        write(out / f"{name}.tar.gz",
              archives.gzipped(archives.tar([(f"{name}/{path}", *rest) for path, *rest in files], epoch)))
        for kind, machine in (("DEB", debian), ("RPM", uname)):
            native(kind, stage, version, machine, out, epoch)
    licences = {"LICENSE": (ROOT / "LICENSE").read_bytes(), "libraries.txt.gz": archives.gzipped(notices.encode())}
    for file, content in [*registries.npm(ROOT, version, npm, program, licences, skills(), wasm(out, version, epoch), epoch),
                          registries.wheel(ROOT, version, uname, program, licences, skills(), time.gmtime(epoch)),
                          image.image(version, debian, program, licences, skills(), epoch)]:
        write(out / file, content)
    write(out / f"{name}.spdx.json",
          libraries.bill_of_materials("./oomdoctor", packages, name, version, epoch, checksum))


def finish(out):
    """What describes all packages of OUT: recipes and checksums."""
    version = re.search(r"^project\(oomdoctor VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())
            if path.is_file() and path.name != "SHA256SUMS"}
    tarballs = {cpu.upper(): sums[f"oomdoctor-{version}-linux-{cpu}.tar.gz"] for cpu in ("x64", "arm64")
                if f"oomdoctor-{version}-linux-{cpu}.tar.gz" in sums}
    if f"oomdoctor-{version}.tar.gz" in sums:
        tarballs["SOURCE"] = sums[f"oomdoctor-{version}.tar.gz"]
    recipes(version, {f"SHA256_{cpu}": value for cpu, value in tarballs.items()}, out)
    write(out / "SHA256SUMS", "".join(f"{value}  {name}\n" for name, value in sums.items()))


if __name__ == "__main__":
    os.umask(0o022)  # cpack writes the rights of its own files by it
    *builds, target = map(pathlib.Path, sys.argv[1:])
    for each in builds:
        package(each.resolve(), target, int(os.environ["SOURCE_DATE_EPOCH"]))
    finish(target)
