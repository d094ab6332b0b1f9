"""The same build packs to the same bytes, under 15 MB each, with the licenses of the contents."""

import pathlib
import tarfile
import tempfile
import zipfile

import installing


def main(folder):
    first, again = installing.pack(folder / "first"), installing.pack(folder / "again")
    for one, two in zip(first, again, strict=True):
        assert one.name == two.name
        assert one.read_bytes() == two.read_bytes(), f"{one.name} differs from one packing to the next"
        assert one.stat().st_size < 15_000_000, f"{one.name}: {one.stat().st_size} bytes"
    with zipfile.ZipFile(first[0]) as wheel:
        in_wheel = wheel.namelist()
    with tarfile.open(first[1]) as archive:
        in_archive = archive.getnames()
    for names in (in_wheel, in_archive):
        for part in ("libddp_core.so", "libddp_rank.so", "components.json", "experiments/basic.toml",
                     "experiment.schema.json", "ddp-exp/LICENSE", "licenses/nlohmann-json3-dev.txt", "sdk.json",
                     "models/model.h", "nlohmann/json.hpp", "ddp-exp-config.cmake", "man1/ddp-exp.1", "site-functions/_ddp-exp"):
            assert any(name.endswith("/" + part) for name in names), (part, names)
        libraries = [name for name in names if "/lib" in name and ".so" in name and "libddp_" not in name]
        licenses = [name for name in names if "/licenses/lib" in name and "-dev" not in name]
        # brotli's package has three libraries, OpenSSL's two, and zlib's name does not begin with "lib".
        assert libraries and len(licenses) >= len(libraries) - 4, (libraries, licenses)


if __name__ == "__main__":
    installing.require_release_build()
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch).resolve())
