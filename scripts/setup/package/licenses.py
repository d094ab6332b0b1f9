"""Collects the copyright files of the libraries that a package carries: their licenses ask for it."""

import pathlib
import shutil
import subprocess

# Headers whose code is in the program itself.
HEADERS = ("nlohmann-json3-dev", "libcli11-dev", "libspdlog-dev", "libtomlplusplus-dev")
# Packages that are linked into one of its libraries.
STATIC = {"libddp_images.so": "libarchive-dev"}


def package_of(library):
    """The Debian package that installed a library of this name."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True).stdout
    if not found:
        raise LookupError(f"no package of this system holds {library}: whose license is it under?")
    return found.split(":", 1)[0]


def collect(libraries, target):
    """For the libraries in a folder. Throws LookupError where a copyright file is missing."""
    target.mkdir(parents=True)
    own = ("libddp_",)
    names = sorted(file.name for file in libraries.glob("lib*.so*") if not file.name.startswith(own))
    static = (package for library, package in STATIC.items() if (libraries / library).exists())
    for package in sorted({*map(package_of, names), *HEADERS, *static}):
        copyright_file = pathlib.Path("/usr/share/doc", package, "copyright")
        if not copyright_file.exists():
            raise LookupError(f"{copyright_file} is missing: a package must carry the licenses of what is in it")
        shutil.copyfile(copyright_file, target / f"{package}.txt")
