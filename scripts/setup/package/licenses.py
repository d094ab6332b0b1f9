"""Collects the copyright files of the libraries in a package, as their licenses require."""

import pathlib
import shutil
import subprocess

# Packages of headers whose code is in the program itself.
HEADERS = ("nlohmann-json3-dev", "libcli11-dev", "libspdlog-dev", "libtomlplusplus-dev")
# Packages that are linked statically into one of the program's libraries.
STATIC = {"libddp_images.so": "libarchive-dev"}


def package_of(library):
    """The Debian package that installed a library of this name."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True).stdout
    if not found:
        raise LookupError(f"no package of this system contains {library}, so its license is unknown")
    return found.split(":", 1)[0]


def collect(libraries, target):
    """Copies the copyright files for the libraries in a folder. Raises LookupError if one is missing."""
    target.mkdir(parents=True)
    own = ("libddp_",)
    names = sorted(file.name for file in libraries.glob("lib*.so*") if not file.name.startswith(own))
    static = (package for library, package in STATIC.items() if (libraries / library).exists())
    for package in sorted({*map(package_of, names), *HEADERS, *static}):
        copyright_file = pathlib.Path("/usr/share/doc", package, "copyright")
        if not copyright_file.exists():
            raise LookupError(f"{copyright_file} is missing: a package must contain the licenses of its libraries")
        shutil.copyfile(copyright_file, target / f"{package}.txt")
