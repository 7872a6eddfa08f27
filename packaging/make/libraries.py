"""The libraries inside a program, as the build and dpkg report them: a list for SPDX, and their licences.

The build names the headers that it read (ninja) and the archives that it linked (the linker's map); dpkg names the
package of each. A library that is used without being listed is therefore impossible. The WebAssembly build has the libraries of
scripts/web-libraries, which lists them. `libraries.py` prints their licences.
"""
import datetime
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

DOCUMENTS = pathlib.Path("/usr/share/doc")
SYSROOT = "/build/sysroot/"
WASM = pathlib.Path(__file__).resolve().parents[2] / "build" / "sysroot" / "wasm"

# The licences as SPDX spells them. Debian spells them in its own way, and lists other choices of the same file apart.
SPDX = {
    "apache-2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-3-clause or gpl-2": "BSD-3-Clause OR GPL-2.0-only",
    "bsd-variant": "bzip2-1.0.6",
    "bsl-1.0": "BSL-1.0",
    "expat": "MIT",
    "expat and unicode": "MIT AND Unicode-DFS-2015",
    "expat with embedded exception": "MIT",
    "lgpl-3+ or gpl-2+": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "mpl-2": "MPL-2.0",
    "pd": "LicenseRef-PublicDomain",
    "zlib": "Zlib",
}
# Sources whose copyright files are prose, or have the licence of a library under another heading.
PROSE = {
    "cross-toolchain-base": "LGPL-2.1-or-later",  # the C library for another architecture
    "emscripten": "(MIT OR NCSA) AND Apache-2.0 WITH LLVM-exception",  # its C and C++ libraries
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def files_of(build):
    """The files of the system, and of the libraries of another architecture, that the build put into the program."""
    read = re.findall(r"^ {4}(/\S+)$", run("ninja", "-C", str(build), "-t", "deps"), re.M)
    linked = re.findall(r"^(?:LOAD )?(/\S+?\.[ao])(?=\(|$)", (build / "oomdoctor.map").read_text(), re.M)
    return sorted({str(pathlib.Path(path).resolve()) for path in [*read, *linked]
                   if path.startswith("/usr/") or SYSROOT in path})


def licence_of(documents, source):
    if source in PROSE:
        return PROSE[source]
    stanza = re.search(r"^Files: *\n? *\*\s.*?(?=^\s*$)", documents.read_text(encoding="utf-8"), re.M | re.S)
    name = re.search(r"^License:\s*(.*)$", stanza[0], re.M)[1].strip().lower()
    if name not in SPDX:
        raise SystemExit(f"{documents}: the licence {name!r} has no SPDX name in {__file__}")
    return SPDX[name]


def installed(files):
    """(name, version, source, copyright file) of each package of this machine that has one of these files."""
    # Debian merged /bin and /lib into /usr: dpkg knows some files by their old names.
    asked = files + [path.removeprefix("/usr") for path in files if path.startswith("/usr/lib/")]
    owners = set()
    for start in range(0, len(asked), 500):
        done = subprocess.run(["dpkg", "-S", *asked[start:start + 500]], capture_output=True, text=True, check=False)
        owners.update(line.split(": ")[0] for line in done.stdout.splitlines())
    for owner in owners:
        record = run("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}", owner)
        name, version, source = record.split("\t")
        yield name, version, source, DOCUMENTS / name / "copyright"


def unpacked(files):
    """The same of the packages that scripts/arm64-libraries unpacked."""
    roots = {path[:path.index("/usr/", path.index(SYSROOT))] for path in files}
    for root in map(pathlib.Path, roots):
        below = {path.removeprefix(str(root)) for path in files}
        for record in (root / "packages").iterdir():
            first, *names = record.read_text().splitlines()
            if below & set(names):
                name, version, source = first.split("\t")
                yield name, version, source, root / str(DOCUMENTS / name / "copyright").lstrip("/")


def packages_of(build):
    """[{"name", "version", "licence", "documents"}] of the packages that these files come from."""
    files = files_of(build)
    of_sysroot = [path for path in files if SYSROOT in path]
    return described({*installed(sorted(set(files) - set(of_sysroot))), *(unpacked(of_sysroot) if of_sysroot else ())})


def packages_of_wasm():
    """The same of the WebAssembly build."""
    lines = [line.split("\t") for line in (WASM / "packages").read_text().splitlines()]
    return described((name, version, source, WASM / "copyright" / name) for name, version, source in lines)


def described(found):
    return [{"name": name, "version": version, "licence": licence_of(documents, source), "documents": documents}
            for name, version, source, documents in sorted(found)]


def bill_of_materials(program, packages, name, version, epoch, checksum):
    """An SPDX 2.3 document in JSON."""
    def package(identity, of, version, licence, **more):
        return {"SPDXID": identity, "name": of, "versionInfo": version, "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
                "copyrightText": "NOASSERTION", **more}

    listed = [package("SPDXRef-oomdoctor", "oomdoctor", version, "Apache-2.0", primaryPackagePurpose="APPLICATION",
                      checksums=[{"algorithm": "SHA256", "checksumValue": checksum}],
                      packageFileName=program)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-oomdoctor")]
    for library in packages:
        identity = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", library["name"])
        address = f"pkg:deb/debian/{urllib.parse.quote(library['name'])}@{urllib.parse.quote(library['version'])}"
        listed.append(package(identity, library["name"], library["version"], library["licence"],
                              supplier="Organization: Debian", externalRefs=[{
                                  "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": address}]))
        relations.append(("SPDXRef-oomdoctor", "STATIC_LINK", identity))
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": "https://github.com/oomdoctor/oomdoctor/spdx/"
                             f"{name}-{uuid.uuid5(uuid.NAMESPACE_URL, checksum)}",
        "creationInfo": {"created": created, "creators": ["Tool: oomdoctor-scripts-package"]},
        "packages": listed,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in relations]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def notices(packages):
    """The licences of the libraries, whose texts a binary package has to contain. Each text appears once."""
    texts = {}
    for library in packages:
        text = library["documents"].read_text(encoding="utf-8").strip()
        texts.setdefault(text, []).append(f"{library['name']} {library['version']}")
    rule = "=" * 100
    return "oomdoctor contains code of these libraries.\n\n" + "\n\n".join(
        f"{rule}\n{chr(10).join(names)}\n{rule}\n\n{text}" for text, names in texts.items()) + "\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(notices(packages_of_wasm()))
