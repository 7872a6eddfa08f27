"""The packages of scripts/package: each is installed in a clean root, reports on samples what another build of
oomdoctor reports, and leaves nothing when it is removed. OOMDOCTOR_BINARY names a program built with the preset static, and
OOMDOCTOR_REFERENCE another one, by default that of the preset quick.

Skipped (status 77) without such a program, or without root, which chroot needs. The clean roots of Debian are kept
below build/roots.
"""
import gzip
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("OOMDOCTOR_BINARY", "build/static/oomdoctor")).resolve()
REFERENCE = pathlib.Path(os.environ.get("OOMDOCTOR_REFERENCE", ROOT / "build" / "quick" / "oomdoctor")).resolve()
VERSION = re.search(r"^project\(oomdoctor VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
SAMPLES = ROOT / "samples" / "stories"
LOGS = ("leak.log", "fragmentation.log", "gpu_two_devices.csv")
COMMANDS = [["analyze", "--format", "json", *LOGS], ["analyze", "--jobs", "2", "packed.log.gz"], ["explain", "leak"],
            ["analyze", "--capacity", "80", "leak.log"]]  # the last fails with an exception
OTHER = ROOT / "build" / "static-aarch64" / "oomdoctor"
WASM = ROOT / "build" / "web" / "node" / "oomdoctor.wasm"
EPOCH = "1767225600"
SKILL = "oomdoctor/agents/oomdoctor/SKILL.md"  # below share/
MAX_SIZE = 12_000_000  # of the program
DEBIANS = ("bookworm", "trixie")
SKIPPED = 77


def run(*command, check=True, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                          check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done


def packed(out, **environment):
    run(ROOT / "scripts" / "package", "--no-build", BINARY.parent, cwd=ROOT,
        env={"SOURCE_DATE_EPOCH": EPOCH, **os.environ, "OOMDOCTOR_DIST": str(out), **environment})


def put_logs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in LOGS:
        shutil.copyfile(SAMPLES / name, folder / name)
    (folder / "packed.log.gz").write_bytes(gzip.compress((SAMPLES / LOGS[0]).read_bytes(), mtime=0))


def ends(program, folder, root=None):
    """What each of COMMANDS prints and returns, run in a folder (of `root`)."""
    def enter():
        if root:
            os.chroot(root)
        os.chdir(folder)

    found = []
    for words in [["--version"], *COMMANDS]:
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
                              preexec_fn=enter, env={"PATH": "/usr/bin:/bin"})
        found.append((done.returncode, done.stdout, done.stderr))
    return found


def files_in(root, *left_out):
    """The paths below a root, without those of the package manager's records."""
    paths = (path.relative_to(root).as_posix() for path in pathlib.Path(root).rglob("*"))
    return sorted(path for path in paths if not path.startswith(left_out))


def clean_debian(name, folder):
    """A minimal Debian, fresh in `folder`. Skips the test where debootstrap cannot make one: no right to mount, no mirror."""
    kept = ROOT / "build" / "roots" / f"{name}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        uris = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").stdout.decode().split()
        mirror = next((uri for uri in uris if uri.rstrip("/").endswith("/debian")), "http://deb.debian.org/debian")
        with tempfile.TemporaryDirectory() as made:
            try:
                run("debootstrap", "--variant=minbase", name, made, mirror)
            except AssertionError as error:
                raise unittest.SkipTest(f"no Debian {name}: {str(error)[-300:]}") from error
            run("tar", "-C", made, "--exclude=./var/cache", "--exclude=./var/lib/apt/lists/*", "-cf", f"{kept}.tmp",
                ".")
        os.rename(f"{kept}.tmp", kept)
    run("tar", "-C", folder, "-xf", kept)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if cls is Case:
            return
        put_logs(Case.held / "logs")
        cls.expected = ends(REFERENCE, Case.held / "logs")

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        put_logs(self.folder / "logs")

    def package(self, pattern):
        found, = Case.dist.glob(pattern)
        return found

    def assert_works(self, program, folder, root=None):
        self.assertEqual(self.expected[0][1].decode().split()[:2], ["oomdoctor", VERSION])
        found = ends(program, folder, root)
        for words, given, expected in zip([["--version"], *COMMANDS], found, self.expected, strict=True):
            self.assertEqual(given, expected, words)
        self.assertEqual([status for status, *_ in self.expected], [0, 1, 1, 0, 2])


class Program(Case):
    def test_it_is_one_small_file_that_needs_no_other(self):
        self.assertLess(BINARY.stat().st_size, MAX_SIZE)
        self.assertNotIn(b"INTERP", run("readelf", "--wide", "--program-headers", BINARY).stdout)
        self.assertNotIn(b"NEEDED", run("readelf", "--wide", "--dynamic", BINARY).stdout)
        self.assertIn(b"no symbols", run("nm", BINARY, check=False).stderr)
        shutil.copy(BINARY, self.folder / "oomdoctor")
        self.assert_works("/oomdoctor", "/logs", self.folder)

    def test_it_names_no_folder_of_its_build(self):
        content = BINARY.read_bytes()
        self.assertNotIn(str(ROOT).encode(), content)
        self.assertNotIn(b"Build ID", run("readelf", "--notes", BINARY).stdout)

    @unittest.skipUnless(shutil.which("qemu-x86_64") and os.uname().machine == "x86_64", "needs qemu-user")
    def test_it_runs_on_the_oldest_processors_and_on_newer_ones(self):
        for processor in ("qemu64", "Nehalem", "max"):
            for words, (status, output, _) in zip(COMMANDS[:2], self.expected[1:3]):
                done = run("qemu-x86_64", "-cpu", processor, BINARY, *words, check=False, cwd=self.folder / "logs")
                self.assertEqual((done.returncode, done.stdout), (status, output), (processor, words))


    def assert_close(self, found, expected, where=""):
        """The same JSON but for the last digits of fractions, which depend on the C library's functions."""
        self.assertIs(type(found), type(expected), where)
        if isinstance(expected, dict):
            self.assertEqual(list(found), list(expected), where)
            for key in expected:
                self.assert_close(found[key], expected[key], f"{where}.{key}")
        elif isinstance(expected, list):
            self.assertEqual(len(found), len(expected), where)
            for index, pair in enumerate(zip(found, expected)):
                self.assert_close(*pair, f"{where}[{index}]")
        elif isinstance(expected, float):
            self.assertTrue(math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (where, found, expected))
        else:
            self.assertEqual(found, expected, where)

    @unittest.skipUnless(OTHER.exists() and shutil.which("qemu-aarch64"), "preset static-aarch64 is not built here")
    def test_the_program_for_aarch64_reports_the_same(self):
        for words, (status, output, errors) in zip(COMMANDS, self.expected[1:], strict=True):
            done = run("qemu-aarch64", OTHER, *words, check=False, cwd=self.folder / "logs")
            self.assertEqual((done.returncode, done.stderr), (status, errors), words)
            if "json" in words:
                self.assert_close(json.loads(done.stdout), json.loads(output))
            else:
                self.assertEqual(done.stdout, output, words)
        out = self.folder / "both"
        run(ROOT / "scripts" / "package", "--no-build", BINARY.parent, OTHER.parent, cwd=ROOT,
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "OOMDOCTOR_DIST": str(out)})
        for pattern in ("*_arm64.deb", "*.aarch64.rpm", "*-linux-arm64.tar.gz", "oomdoctor-linux-arm64-*.tgz",
                        "*aarch64.whl", "*-image-arm64.tar", "*-linux-arm64.spdx.json"):
            self.assertEqual(len([*out.glob(pattern)]), 1, pattern)


class Dist(Case):
    def test_the_same_program_gives_the_same_packages(self):
        again = self.folder / "again"
        before = os.umask(0o077)
        try:
            packed(again, TZ="Asia/Tokyo", LC_ALL="C")
        finally:
            os.umask(before)
        self.assertEqual(files_in(again), files_in(Case.dist))
        for name in files_in(again):
            if (again / name).is_file():
                self.assertEqual((again / name).read_bytes(), (Case.dist / name).read_bytes(), name)

    def test_the_checksums_name_every_file(self):
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=Case.dist)
        listed = {line.split()[1] for line in (Case.dist / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {path.name for path in Case.dist.iterdir() if path.is_file()} - {"SHA256SUMS"})

    def test_the_list_of_libraries_is_whole(self):
        document = json.loads(self.package("*-linux-*.spdx.json").read_text())
        self.assertEqual((document["spdxVersion"], document["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        packages = {package["name"]: package for package in document["packages"]}
        self.assertEqual(packages["oomdoctor"]["checksums"][0]["checksumValue"],
                         hashlib.sha256(BINARY.read_bytes()).hexdigest())
        for name in ("libarchive-dev", "libboost-regex1.74-dev", "libbz2-dev", "libc6-dev", "libfmt-dev", "libhwy-dev",
                     "libisal-dev", "liblz4-dev", "liblzma-dev", "libstdc++-12-dev", "libutf8proc-dev", "libzstd-dev",
                     "nettle-dev", "zlib1g-dev"):
            self.assertEqual(packages[name]["versionInfo"],
                             run("dpkg-query", "-W", "-f", "${Version}", name).stdout.decode(), name)
        identities = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
        self.assertEqual(len(identities), len(packages) + 1)
        for identity in identities:
            self.assertRegex(identity, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for relation in document["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, identities)
        with tarfile.open(self.package("oomdoctor-*-linux-*.tar.gz")) as archive:
            notices, = (member for member in archive if member.name.endswith("/libraries.txt.gz"))
            text = gzip.decompress(archive.extractfile(notices).read()).decode()
        for name in packages.keys() - {"oomdoctor"}:
            self.assertIn(f"\n{name} {packages[name]['versionInfo']}\n", text)

    def test_the_pieces_for_jobs_install_this_release(self):
        for name in ("README.md", "gitlab/oomdoctor.yml", "buildkite/pre-exit"):
            text = (ROOT / "packaging" / "ci" / name).read_text()
            address, = re.findall(r"https://\S+\.whl", text)
            release, wheel = address.rsplit("/", 2)[1:]
            self.assertEqual(release, f"v{VERSION}", name)
            self.assertEqual(wheel.replace("x86_64", os.uname().machine), self.package("*.whl").name, name)
        self.assertIn(f"packaging/ci/github@v{VERSION}\n", (ROOT / "packaging" / "ci" / "README.md").read_text())

    def test_the_recipes_name_this_release(self):
        tarball = self.package("oomdoctor-*-linux-x64.tar.gz")
        for path in (Case.dist / "recipes").rglob("*"):
            if path.is_file():
                text = path.read_text()
                self.assertIn(VERSION, text)
                self.assertNotRegex(text, r"@[A-Z0-9_]+@")
                if path.suffix in (".py", ".eb"):
                    compile(text, path, "exec")
        checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
        for name in ("homebrew/oomdoctor.rb", f"easybuild/oomdoctor-{VERSION}.eb"):
            self.assertIn(checksum, (Case.dist / "recipes" / name).read_text())


class Tarball(Case):
    def test_it_works_where_it_is_unpacked(self):
        name = self.package("oomdoctor-*-linux-*.tar.gz")
        with tarfile.open(name) as archive:
            archive.extractall(self.folder)
        folder = self.folder / name.name.removesuffix(".tar.gz")
        self.assertEqual(files_in(folder), sorted([
            "bin", "bin/oomdoctor", "share", "share/bash-completion", "share/bash-completion/completions",
            "share/bash-completion/completions/oomdoctor", "share/doc", "share/doc/oomdoctor",
            "share/doc/oomdoctor/LICENSE", "share/doc/oomdoctor/README.md", "share/doc/oomdoctor/libraries.txt.gz",
            "share/fish", "share/fish/vendor_completions.d", "share/fish/vendor_completions.d/oomdoctor.fish",
            "share/man", "share/man/man1", "share/man/man1/oomdoctor.1.gz", "share/oomdoctor", "share/oomdoctor/agents",
            "share/oomdoctor/agents/oomdoctor", "share/oomdoctor/agents/oomdoctor/SKILL.md", "share/zsh",
            "share/zsh/site-functions", "share/zsh/site-functions/_oomdoctor"]))
        self.assertEqual((folder / "bin" / "oomdoctor").read_bytes(), BINARY.read_bytes())
        self.assert_works(folder / "bin" / "oomdoctor", self.folder / "logs")


class Native(Case):
    def test_the_deb_in_a_clean_debian(self):
        package = self.package("*.deb")
        for name in DEBIANS:
            root = self.folder / name
            root.mkdir()
            clean_debian(name, root)
            records = ("var/lib/dpkg", "var/log")
            before = files_in(root, *records)
            put_logs(root / "logs")
            shutil.copyfile(package, root / "logs" / "oomdoctor.deb")
            run("chroot", root, "dpkg", "--install", "/logs/oomdoctor.deb")
            self.assertEqual(run("chroot", root, "dpkg", "--verify", "oomdoctor").stdout, b"")
            self.assert_works("/usr/bin/oomdoctor", "/logs", root)
            run("chroot", root, "dpkg", "--purge", "oomdoctor")
            shutil.rmtree(root / "logs")
            self.assertEqual(files_in(root, *records), before)

    def test_the_rpm_in_an_empty_root(self):
        package = self.package("*.rpm")
        root = self.folder / "rpm"
        for folder in ("usr/bin", "usr/share/bash-completion/completions", "usr/share/doc", "usr/share/man/man1",
                       "usr/share/zsh/site-functions", "usr/share/fish/vendor_completions.d", "var/lib/rpm"):
            (root / folder).mkdir(parents=True)
        rpm = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"]
        run(*rpm, "--initdb")
        before = files_in(root, "var/lib/rpm")
        put_logs(root / "logs")
        run(*rpm, "--install", package)
        self.assertEqual(run(*rpm, "--verify", "oomdoctor").stdout, b"")
        self.assert_works("/usr/bin/oomdoctor", "/logs", root)
        run(*rpm, "--erase", "oomdoctor")
        shutil.rmtree(root / "logs")
        self.assertEqual(files_in(root, "var/lib/rpm"), before)


class Registries(Case):
    def npm(self, *words, check=True):
        environment = {**os.environ, "npm_config_cache": str(self.folder / "cache"), "HOME": str(self.folder)}
        return run("npm", *words, "--offline", "--no-audit", "--no-fund", check=check, cwd=self.folder / "project",
                   env=environment)

    def test_npm_installs_the_program_without_a_script(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "package.json").write_text("{}")
        main, platform = self.package(f"oomdoctor-{VERSION}.tgz"), self.package("oomdoctor-linux-*.tgz")
        for package in (main, platform):
            with tarfile.open(package) as archive:
                self.assertNotIn("scripts", json.load(archive.extractfile("package/package.json")))
        self.npm("install", "--ignore-scripts", platform, main)
        self.assertTrue((project / "node_modules" / "oomdoctor" / "share" / SKILL).is_file())
        launcher = project / "node_modules" / ".bin" / "oomdoctor"
        node = pathlib.Path(shutil.which("node")).parent
        for words, (status, output, errors) in zip(COMMANDS, self.expected[1:], strict=True):
            done = run(launcher, *words, check=False, cwd=self.folder / "logs", env={"PATH": f"{node}:/usr/bin:/bin"})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, output, errors), words)
        self.npm("uninstall", "oomdoctor", platform.name.rsplit("-", 1)[0])
        self.assertEqual(files_in(project / "node_modules", ".package-lock.json", ".bin"), [])

    @unittest.skipUnless(WASM.exists(), "scripts/web has not built the WebAssembly version")
    def test_npm_alone_installs_the_webassembly_version(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "package.json").write_text("{}")
        self.npm("install", "--ignore-scripts", "--omit=optional", self.package(f"oomdoctor-{VERSION}.tgz"))
        folder = project / "node_modules" / "oomdoctor"
        done = run("node", folder / "bin" / "oomdoctor.js", "analyze", "--format", "json", SAMPLES / "leak.log", check=False)
        self.assertEqual((done.returncode, json.loads(done.stdout)["verdict"]["cause"]), (1, "leak"))
        environment = {**os.environ, "npm_config_cache": str(self.folder / "cache"), "HOME": str(self.folder)}
        done = run("npx", "--yes", "--offline", "--package", self.package(f"oomdoctor-{VERSION}.tgz"), "oomdoctor", SAMPLES / "leak.log",
                   check=False, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"OUT OF MEMORY", done.stdout)
        listed = json.loads((Case.dist / f"oomdoctor-{VERSION}-wasm.spdx.json").read_text())["packages"]
        text = gzip.decompress((folder / "libraries.txt.gz").read_bytes()).decode()
        for library in listed:
            if library["name"] != "oomdoctor":
                self.assertIn(f"\n{library['name']} {library['versionInfo']}\n", text)

    def test_the_launcher_says_which_package_is_missing_and_ends_by_the_signal_of_the_program(self):
        with tarfile.open(self.package(f"oomdoctor-{VERSION}.tgz")) as archive:
            archive.extractall(self.folder)
        launcher = self.folder / "package" / "bin" / "oomdoctor.js"
        shutil.rmtree(self.folder / "package" / "node", ignore_errors=True)  # the WebAssembly version, if it was built
        platform = self.package("oomdoctor-linux-*.tgz").name.rsplit("-", 1)[0]
        program = self.folder / "node_modules" / platform / "bin" / "oomdoctor"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\nkill -TERM $$\n")
        program.chmod(0o755)
        self.assertEqual(run("node", launcher, check=False).returncode, -signal.SIGTERM)
        program.unlink()
        done = run("node", launcher, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"^oomdoctor: the package oomdoctor-linux-\w+ is not installed\.")

    def test_pip_installs_the_program_and_the_modules(self):
        environment = self.folder / "venv"
        run(sys.executable, "-m", "venv", environment)
        pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]

        def installed():
            return [name for name in files_in(environment) if "__pycache__" not in name]

        before = installed()
        run(*pip, "install", "--no-index", self.package("*.whl"))
        self.assert_works(environment / "bin" / "oomdoctor", self.folder / "logs")
        self.assertEqual(len([*environment.glob(f"lib/python*/site-packages/{SKILL}")]), 1)
        run(*pip, "check")
        modules = [path.stem for path in (ROOT / "python" / "oomdoctor").glob("*.py")]
        for module in sorted(set(modules) & {"__init__", "torch"}):
            run(environment / "bin" / "python", "-c", "import oomdoctor" + f".{module}" * (module != "__init__"))
        script = "import oomdoctor, sys; print(oomdoctor.analyze(sys.argv[1]).verdict.cause)"
        found = run(environment / "bin" / "python", "-c", script, SAMPLES / "leak.log", env={"PATH": "/nowhere"})
        self.assertEqual(found.stdout, b"leak\n")
        run(*pip, "uninstall", "--yes", "oomdoctor")
        self.assertEqual(installed(), before)
        run(*pip, "install", "--no-index", "--upgrade", "--target", self.folder / "target", self.package("*.whl"))  # as in a job
        self.assert_works(self.folder / "target" / "bin" / "oomdoctor", self.folder / "logs")
        self.assertEqual(installed(), before)

    def test_the_wheel_lists_its_files(self):
        with zipfile.ZipFile(self.package("*.whl")) as wheel:
            record = wheel.read(f"oomdoctor-{VERSION}.dist-info/RECORD").decode().splitlines()
            self.assertEqual([line.split(",")[0] for line in record], wheel.namelist())
            tags = re.findall(r"^Tag: (.*)$", wheel.read(f"oomdoctor-{VERSION}.dist-info/WHEEL").decode(), re.M)
        *_, platforms = self.package("*.whl").stem.split("-")
        self.assertEqual(tags, [f"py3-none-{platform}" for platform in platforms.split(".")])


class Image(Case):
    def test_it_has_the_layout_of_the_oci_and_runs_from_scratch(self):
        layout = self.folder / "layout"
        with tarfile.open(self.package("*-image-*.tar")) as archive:
            archive.extractall(layout)
        for blob in (layout / "blobs" / "sha256").iterdir():
            self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
        # umoci reads the image as container engines do.
        run("umoci", "unpack", "--image", f"{layout}:{VERSION}", self.folder / "bundle")
        process = json.loads((self.folder / "bundle" / "config.json").read_text())["process"]
        self.assertEqual((process["args"], process["cwd"]), (["/usr/bin/oomdoctor"], "/logs"))
        root = self.folder / "bundle" / "rootfs"
        self.assertEqual(files_in(root), ["usr", "usr/bin", "usr/bin/oomdoctor", "usr/share", "usr/share/doc",
                                          "usr/share/doc/oomdoctor", "usr/share/doc/oomdoctor/LICENSE",
                                          "usr/share/doc/oomdoctor/libraries.txt.gz", "usr/share/oomdoctor",
                                          "usr/share/oomdoctor/agents", "usr/share/oomdoctor/agents/oomdoctor",
                                          f"usr/share/{SKILL}"])
        put_logs(root / "logs")
        self.assert_works(process["args"][0], process["cwd"], root)
        saved, = json.loads((layout / "manifest.json").read_text())
        for name in (saved["Config"], *saved["Layers"]):
            self.assertTrue((layout / name).is_file(), name)


if __name__ == "__main__":
    if os.geteuid() != 0 or not pathlib.Path(f"{BINARY}.map").exists() or not REFERENCE.exists():
        print(f"skipped: needs root, {BINARY} from the preset static, and {REFERENCE} to compare with")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        Case.held = pathlib.Path(folder)
        Case.dist = Case.held / "dist"
        packed(Case.dist)
        unittest.main()
