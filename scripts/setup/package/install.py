"""Installs a built program into a prefix: scripts/ddp-exp --install.

    install.py BUILD PREFIX [LIBTORCH]     LIBTORCH: a folder with torch/ and nvidia/, which is then installed too

A rename puts each file in place, so a program that runs from there keeps its old file. lib/ddp-exp/files.txt lists the
installed files. Files of an earlier installation that this one does not have are removed, and nothing else.
"""

import fcntl
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import entries  # noqa: E402
import libtorch  # noqa: E402
import staging  # noqa: E402

LIST = "lib/ddp-exp/files.txt"
SCRATCH = ".ddp-exp-install"


def fail(code, *lines):
    for line in lines:
        print(f"ddp-exp: {line}", file=sys.stderr)
    sys.exit(code)


def stage_into(build, stage):
    staging.lay_out(build, stage)
    try:
        staging.add_licenses(stage)
    except (LookupError, FileNotFoundError) as error:
        # Only a package must contain the licenses: this machine got these libraries from elsewhere.
        print(f"ddp-exp: without the licenses of the system's libraries: {error}", file=sys.stderr)


def read_list(prefix):
    file = prefix / LIST
    return set(file.read_text().splitlines()) if file.exists() else set()


def write_list(prefix, names):
    file = prefix / LIST
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text("".join(f"{name}\n" for name in sorted(names)))
    new.replace(file)


def remove(prefix, name):
    """Removes a file, and the folders that become empty."""
    file = prefix / name
    file.unlink(missing_ok=True)
    for folder in file.parents:
        if folder == prefix or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def place(stage, prefix, with_libtorch):
    """Moves the staged files into the prefix."""
    files = dict(entries.files(stage))
    before = read_list(prefix)
    # The list has old and new files until all are in place, so the next installation can clean up after a killed one.
    write_list(prefix, before | set(files))
    for name, file in files.items():
        target = prefix / name
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
    # An installed LibTorch stays if this installation does not replace it.
    kept = {name for name in before if name.startswith(libtorch.PLACES)} if not with_libtorch else set()
    for name in before - set(files) - kept:
        remove(prefix, name)
    write_list(prefix, set(files) | kept)


def main(build, prefix, torch=None):
    prefix.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(prefix, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # until this process ends
    stage = prefix / SCRATCH
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    try:
        stage_into(build, stage)
        if torch:
            libtorch.lay_out(torch, stage)
        place(stage, prefix, torch is not None)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    os.umask(0o022)
    try:
        main(*map(pathlib.Path, sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except staging.StagingError as failure:
        fail(1, str(failure))
    except OSError as failure:
        fail(2, f"cannot install into {sys.argv[2]}: {failure.strerror}: {failure.filename2 or failure.filename}")
