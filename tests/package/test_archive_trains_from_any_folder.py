"""The archive works wherever it is unpacked, with a LibTorch that the user names or that scripts/ddp-exp fetched."""

import pathlib
import shutil
import tarfile
import tempfile

import installing


def main(folder):
    _, archive = installing.pack(folder / "dist")
    place = folder / "two words"
    place.mkdir()
    with tarfile.open(archive) as packed:
        packed.extractall(place)
    (top,) = place.iterdir()
    assert archive.name.startswith(top.name + "-"), (archive, top)
    program, basic = top / "bin/ddp-exp", top / "share/ddp-exp/experiments/basic.toml"
    words = [program, "run", basic, "--set", "epochs=1"]

    said = installing.run_elsewhere(words, folder, code=2)
    assert "libtorch_cpu.so" in said and "DDP_LIBTORCH" in said and "pip install torch==2.11.0" in said, said
    said = installing.run_elsewhere(words, folder, code=2, DDP_LIBTORCH=folder)
    assert f"DDP_LIBTORCH={folder}" in said and "holds no torch/lib/libtorch_cpu.so" in said, said
    # Commands that only read files need no LibTorch.
    assert "ok" in installing.run_elsewhere([program, "validate", basic], folder)

    installing.run_elsewhere(words, folder, DDP_LIBTORCH=installing.TORCH)

    cache = folder / "cache"
    (cache / "ddp-exp").mkdir(parents=True)
    (cache / "ddp-exp/libtorch-2.11.0").symlink_to(installing.TORCH)
    installing.run_elsewhere(words, folder, XDG_CACHE_HOME=cache)

    moved = folder / "moved"
    shutil.move(top, moved)
    for name in ("torch", "nvidia"):
        (moved / "lib" / name).symlink_to(installing.TORCH / name)
    installing.run_elsewhere([moved / "bin/ddp-exp", "run", moved / "share/ddp-exp/experiments/basic.toml"], folder)
    installing.check_libraries(moved / "lib/ddp-exp")


if __name__ == "__main__":
    installing.require_release_build()
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch).resolve())
