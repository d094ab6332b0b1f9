"""pip refuses the wheel if torch 2.11.0 is not available, instead of installing a program that cannot train."""

import pathlib
import tempfile

import installing


def main(folder):
    wheel, _ = installing.pack(folder / "dist")
    installing.run([installing.PYTHON, "-I", "-m", "venv", "--without-pip", folder / "environment"])
    said = installing.pip_install(folder / "environment", wheel, code=1)
    assert "torch==2.11.0" in said, said
    assert not (folder / "environment/bin/ddp-exp").exists()


if __name__ == "__main__":
    installing.require_release_build()
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch).resolve())
