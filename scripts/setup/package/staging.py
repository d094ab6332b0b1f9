"""Lays the files of a built program out in an empty folder, as a prefix or a package holds them."""

import subprocess

import licenses


class StagingError(Exception):
    """Says what cmake said, or what a package lacks."""


def install(build, stage):
    """Installs the files that cmake/Install.cmake lists, without symbols that only debuggers need."""
    for component in ("program", "bundle"):
        command = ["cmake", "--install", build, "--prefix", stage, "--strip", "--component", component]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise StagingError(f"cmake --install failed:\n{done.stdout}{done.stderr}")


def replace_links(folder):
    """A library comes as libx.so.1 -> libx.so.1.2.3. Only the first name is asked for, and a wheel holds no links."""
    targets = {link: link.resolve() for link in folder.iterdir() if link.is_symlink()}
    for link, target in targets.items():
        content = target.read_bytes()
        link.unlink()
        link.write_bytes(content)
        link.chmod(0o755)
    for target in set(targets.values()):
        target.unlink()


def lay_out(build, stage):
    """All but the licenses of others. Throws StagingError."""
    install(build, stage)
    replace_links(stage / "lib/ddp-exp")


def add_licenses(stage):
    """Of the libraries and headers in it. Throws LookupError where one is missing."""
    licenses.collect(stage / "lib/ddp-exp", stage / "share/doc/ddp-exp/licenses")
