"""Writes the archive: one folder, ddp-exp-V, with the files that cmake installed and a README.md."""

import gzip
import io
import pathlib
import tarfile

import entries

README = pathlib.Path(__file__).with_name("archive.md")


def add(packed, name, content, mode):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(content), mode, entries.seconds()
    packed.addfile(entry, io.BytesIO(content))


def add_link(packed, name, target):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mtime = tarfile.SYMTYPE, target, entries.seconds()
    packed.addfile(entry)


def write(stage, folder, version, torch):
    """Packs `stage`, a folder that cmake installed into. Returns the archive's path."""
    top = f"ddp-exp-{version}"
    target = folder / f"{top}-linux-x86_64.tar.gz"
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=entries.seconds()) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as packed:
            add(packed, f"{top}/README.md", README.read_text().replace("@TORCH@", torch).encode(), 0o644)
            for path, source in entries.files(stage):
                if source.is_symlink():
                    add_link(packed, f"{top}/{path}", str(source.readlink()))
                else:
                    add(packed, f"{top}/{path}", source.read_bytes(), source.stat().st_mode & 0o777)
    return target
