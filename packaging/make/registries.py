"""The packages for npm and for pip. Neither runs a script while it is installed, and neither downloads anything."""
import base64
import hashlib
import json
import pathlib

import archives

HOMEPAGE = "https://github.com/oomdoctor/oomdoctor"
SUMMARY = "Finds out why a training job ran out of memory, from its log"
KEYWORDS = ("out-of-memory", "cuda", "pytorch", "gpu", "log-analysis")
CLASSIFIERS = (
    "Development Status :: 4 - Beta", "Environment :: Console", "Environment :: GPU :: NVIDIA CUDA", "Framework :: IPython",
    "Framework :: Jupyter", "Framework :: Pytest", "Intended Audience :: Developers", "Intended Audience :: Science/Research",
    "License :: OSI Approved :: Apache Software License", "Operating System :: POSIX :: Linux",
    "Programming Language :: C++", "Programming Language :: Python :: 3", "Programming Language :: Python :: 3 :: Only",
    "Topic :: Scientific/Engineering :: Artificial Intelligence", "Topic :: System :: Monitoring", "Typing :: Typed")
CPUS = ("x64", "arm64")  # each is a package that npm installs where it fits


def npm(root, version, cpu, program, licences, skills, wasm, epoch):
    """(name, content) of the package with the program for one CPU, and of the main package that starts it. `wasm`: the files of the
    program's WebAssembly version, for other systems."""
    readme = (root / "packaging" / "registry.md").read_bytes()
    common = {"version": version, "license": "Apache-2.0", "homepage": HOMEPAGE,
              "repository": {"type": "git", "url": f"git+{HOMEPAGE}.git"}}

    def packed(description, files):
        entries = [("package.json", (json.dumps(description, indent=2) + "\n").encode(), False),
                   ("README.md", readme, False), ("LICENSE", licences["LICENSE"], False), *files]
        content = archives.gzipped(archives.tar([(f"package/{name}", *rest) for name, *rest in entries], epoch))
        return f"{description['name']}-{version}.tgz", content

    yield packed({"name": f"oomdoctor-linux-{cpu}", "description": f"oomdoctor for Linux, {cpu}", **common,
                  "os": ["linux"], "cpu": [cpu], "preferUnplugged": True, "files": ["bin", "libraries.txt.gz"]},
                 [("bin/oomdoctor", program, True), ("libraries.txt.gz", licences["libraries.txt.gz"], False)])
    launcher = (root / "packaging" / "npm" / "oomdoctor.js").read_bytes()
    yield packed({"name": "oomdoctor", "description": SUMMARY, **common, "bin": {"oomdoctor": "bin/oomdoctor.js"},
                  "files": ["bin", "node", "share", "libraries.txt.gz"], "engines": {"node": ">=14"},
                  "keywords": KEYWORDS,
                  "optionalDependencies": {f"oomdoctor-linux-{each}": version for each in CPUS}},
                 [("bin/oomdoctor.js", launcher, True), *((f"share/{name}", content, False) for name, content in skills), *wasm])


def wheel(root, version, machine, program, licences, skills, time):
    """(name, content) of the wheel: the program as a script, and the modules of python/oomdoctor."""
    # The program is static, so it runs with every C library.
    tags = [f"py3-none-{platform}_{machine}" for platform in ("manylinux_2_17", "manylinux2014", "musllinux_1_1")]
    information = f"oomdoctor-{version}.dist-info"
    metadata = (f"Metadata-Version: 2.1\nName: oomdoctor\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
                f"Author: the oomdoctor authors\nKeywords: {','.join(KEYWORDS)}\nHome-page: {HOMEPAGE}\n"
                f"Project-URL: Documentation, {HOMEPAGE}/blob/main/docs/python.md\n"
                f"Project-URL: Changelog, {HOMEPAGE}/blob/main/CHANGELOG.md\nProject-URL: Issues, {HOMEPAGE}/issues\n"
                "Requires-Python: >=3.8\n" + "".join(f"Classifier: {each}\n" for each in CLASSIFIERS) +
                "Description-Content-Type: text/markdown\n\n" + (root / "packaging" / "registry.md").read_text())
    described = "".join(f"{line}\n" for line in ("Wheel-Version: 1.0", "Generator: oomdoctor", "Root-Is-Purelib: false",
                                                 *(f"Tag: {tag}" for tag in tags)))
    modules = root / "python" / "oomdoctor"
    entries = [(f"oomdoctor/{name}", content, False) for name, content, _ in archives.files_below(modules)
               if pathlib.PurePosixPath(name).suffix in (".py", ".pyi", ".typed")] if modules.is_dir() else []
    # Below share/ pip would leave empty folders when it removes the wheel.
    entries += [(f"oomdoctor-{version}.data/scripts/oomdoctor", program, True), *((name, content, False) for name, content in skills),
                *((f"{information}/{name}", content, False) for name, content in licences.items()),
                (f"{information}/METADATA", metadata.encode(), False),
                (f"{information}/WHEEL", described.encode(), False)]

    def line(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    record = "".join(line(name, content) for name, content, _ in entries) + f"{information}/RECORD,,\n"
    entries.append((f"{information}/RECORD", record.encode(), False))
    platforms = ".".join(tag.removeprefix("py3-none-") for tag in tags)
    return f"oomdoctor-{version}-py3-none-{platforms}.whl", archives.zipped(entries, time)
