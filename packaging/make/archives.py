"""Archives whose bytes depend on their content alone: fixed order, owner, rights and times."""
import gzip
import io
import pathlib
import tarfile
import zipfile


def files_below(folder):
    """(name, content, executable) of each file below a folder, in the order of the names."""
    folder = pathlib.Path(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes(), bool(path.stat().st_mode & 0o100)


def tar(entries, epoch):
    """An uncompressed tar of (name, content, executable) in this order, with the folders that lead to them."""
    written = io.BytesIO()
    folders = set()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        def add(name, kind, mode, content=b""):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime, entry.size = kind, mode, epoch, len(content)
            archive.addfile(entry, io.BytesIO(content))

        for name, content, executable in entries:
            for folder in reversed(pathlib.PurePosixPath(name).parents[:-1]):
                if folder not in folders:
                    folders.add(folder)
                    add(str(folder), tarfile.DIRTYPE, 0o755)
            add(name, tarfile.REGTYPE, 0o755 if executable else 0o644, content)
    return written.getvalue()


def gzipped(content):
    """Without a name or a time in its header."""
    return gzip.compress(content, 9, mtime=0)


def zipped(entries, time):
    """A zip of (name, content, executable); time is a struct_time of 1980 or later."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, executable in entries:
            entry = zipfile.ZipInfo(name, time[:6])
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content)
    return written.getvalue()
