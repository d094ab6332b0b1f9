"""Puts the files of a built program into an empty folder, with the layout of a prefix or a package."""

import subprocess

import licenses


class StagingError(Exception):
    """An error of cmake --install, with its output."""


def install(build, stage):
    """Installs the files that cmake/Install.cmake lists, without symbols that only debuggers need."""
    for component in ("program", "bundle"):
        command = ["cmake", "--install", build, "--prefix", stage, "--strip", "--component", component]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise StagingError(f"cmake --install failed:\n{done.stdout}{done.stderr}")


def replace_links(folder):
    """Replaces a link such as libx.so.1 -> libx.so.1.2.3 by the file: only the link's name is needed, and a wheel
    cannot contain links."""
    targets = {link: link.resolve() for link in folder.iterdir() if link.is_symlink()}
    for link, target in targets.items():
        content = target.read_bytes()
        link.unlink()
        link.write_bytes(content)
        link.chmod(0o755)
    for target in set(targets.values()):
        target.unlink()


def lay_out(build, stage):
    """Stages everything except the licenses of other projects. Raises StagingError."""
    install(build, stage)
    replace_links(stage / "lib/ddp-exp")


def add_licenses(stage):
    """Adds the licenses of the staged libraries and headers. Raises LookupError if one is missing."""
    licenses.collect(stage / "lib/ddp-exp", stage / "share/doc/ddp-exp/licenses")
