"""Unpacks wheels, and merges one unpacked folder into another.

    wheels.py unpack WHEELS TREE [PATTERN...]   unpacks all wheels of a folder into TREE, all files or the files that
                                                match a pattern; deletes each wheel afterwards
    wheels.py merge TREE TARGET                 moves every file of TREE into TARGET, each by one rename

pip could unpack them too, but it also compiles and records the files, which takes twice the time and space.
"""

import fnmatch
import os
import pathlib
import sys
import zipfile


def unpack(wheels, tree, *patterns):
    files = sorted(pathlib.Path(wheels).glob("*.whl"))
    sizes = {file: file.stat().st_size for file in files}
    total, done = sum(sizes.values()), 0
    pathlib.Path(tree).mkdir()
    for file in files:
        if sizes[file] > 5e6:
            report(f"unpacking {file.name.split('-')[0]}: {sizes[file] / 1e6:.0f} MB, {100 * done / total:.0f} % done")
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if not patterns or any(fnmatch.fnmatchcase(info.filename, pattern) for pattern in patterns):
                    extract(archive, info, tree)
        file.unlink()
        done += sizes[file]


def extract(archive, info, tree):
    path = archive.extract(info, tree)
    mode = info.external_attr >> 16 & 0o777
    if mode & 0o100 and not info.is_dir():
        os.chmod(path, 0o755)


def merge(tree, target):
    for folder, _, names in os.walk(tree):
        into = os.path.join(target, os.path.relpath(folder, tree))
        os.makedirs(into, exist_ok=True)
        for name in names:
            os.replace(os.path.join(folder, name), os.path.join(into, name))


def report(line):
    print(f"ddp-exp: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    {"unpack": unpack, "merge": merge}[sys.argv[1]](*sys.argv[2:])
