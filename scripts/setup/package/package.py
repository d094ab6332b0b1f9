"""Packs a built program as a wheel and as an archive.

    package.py BUILD FOLDER     BUILD: a folder that cmake and ninja built; prints the paths of the two files in FOLDER

The same build gives the same bytes: names are sorted, and all times are SOURCE_DATE_EPOCH, or 1980.
"""

import os
import pathlib
import platform
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import archive  # noqa: E402
import staging  # noqa: E402
import wheel  # noqa: E402

LARGEST = 15_000_000


def fail(*lines):
    for line in lines:
        print(f"ddp-exp: {line}", file=sys.stderr)
    sys.exit(1)


def version_of(build):
    cache = (build / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.+)$", cache, re.M).group(1)


def pinned_version(package, layer):
    wanted = (HERE.parents[1] / f"requirements/{layer}.txt").read_text()
    return re.search(rf"^{package}==(\S+)", wanted, re.M).group(1)


def platform_tag():
    """The tag for this machine's C library. pip installs the wheel only with a C library that is at least as new;
    libstdc++ is then new enough, too."""
    name, version = platform.libc_ver()
    if name != "glibc" or platform.machine() != "x86_64":
        fail(f"a package is for glibc on x86-64; this is {name or 'another C library'} on {platform.machine()}")
    major, minor = version.split(".")[:2]
    return f"manylinux_{major}_{minor}_x86_64"


def main(build, folder):
    folder.mkdir(parents=True, exist_ok=True)
    version, torch = version_of(build), pinned_version("torch", "libtorch")
    arrow = pinned_version("pyarrow", "tables")
    with tempfile.TemporaryDirectory() as scratch:
        stage = pathlib.Path(scratch)
        try:
            staging.lay_out(build, stage)
            staging.add_licenses(stage)
        except (staging.StagingError, LookupError) as error:
            fail(str(error))
        made = [wheel.write(stage, folder, version, torch, arrow, platform_tag()),
                archive.write(stage, folder, version, torch)]
    for file in made:
        size = file.stat().st_size
        print(f"ddp-exp: {file.name}: {size / 1e6:.1f} MB", file=sys.stderr)
        if size > LARGEST:
            fail(f"{file} is larger than {LARGEST / 1e6:.0f} MB")
        print(file)


if __name__ == "__main__":
    os.umask(0o022)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
