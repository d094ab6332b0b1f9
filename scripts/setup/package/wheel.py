"""Writes the wheel. The parts of the wheel, and the folders into which pip puts them:

    ddp_exp/                          site-packages, beside torch/: the program, its libraries and sdk.json
    ddp_exp/include/, ddp_exp/cmake/  headers, and the files of find_package(ddp-exp)
    ddp_exp-V.data/scripts/ddp-exp    bin/: a launcher, which starts the program
    ddp_exp-V.data/data/share/        share/ of the environment: experiments, their schema, licenses, manual, completion
"""

import base64
import hashlib
import pathlib
import zipfile

import entries

LAUNCHER = pathlib.Path(__file__).with_name("launcher.sh")
README = pathlib.Path(__file__).with_name("wheel.md")
# Folders of the wheel's package -> their places in a prefix. Relative paths between them work in both.
PLACES = {"include": "include/ddp-exp", "cmake": "lib/cmake/ddp-exp"}


def metadata(version, torch, arrow):
    return f"""\
Metadata-Version: 2.1
Name: ddp-exp
Version: {version}
Summary: Runs training experiments from a file, with PyTorch's distributed data parallelism
License: BSD-3-Clause
Requires-Python: >=3.10
Requires-Dist: torch=={torch}
Provides-Extra: digits
Requires-Dist: scikit-learn>=1.7; extra == "digits"
Provides-Extra: tables
Requires-Dist: pyarrow=={arrow}; extra == "tables"
Description-Content-Type: text/markdown

""" + README.read_text()


def record_line(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def sdk_of_a_package(stage):
    """Returns sdk.json with the wheel's paths of the headers."""
    text = (stage / "lib/ddp-exp/sdk.json").read_text()
    return text.replace('"../../include/ddp-exp', '"include')


def write(stage, folder, version, torch, arrow, platform_tag):
    """Packs `stage`, a folder that cmake installed into. Returns the wheel's path."""
    tag = f"py3-none-{platform_tag}"
    info, data = f"ddp_exp-{version}.dist-info", f"ddp_exp-{version}.data"
    contents = {f"ddp_exp/{path}": (file.read_bytes(), file.stat().st_mode & 0o777)
                for path, file in entries.files(stage / "lib/ddp-exp")}
    contents |= {f"ddp_exp/{package_place}/{path}": (file.read_bytes(), 0o644)
                 for package_place, place in PLACES.items() for path, file in entries.files(stage / place)}
    contents["ddp_exp/sdk.json"] = (sdk_of_a_package(stage).encode(), 0o644)
    contents |= {f"{data}/data/share/{path}": (file.read_bytes(), 0o644)
                 for path, file in entries.files(stage / "share")}
    contents[f"{data}/scripts/ddp-exp"] = (LAUNCHER.read_bytes(), 0o755)
    # Tools that list licenses look here.
    contents[f"{info}/licenses/LICENSE"] = ((stage / "share/doc/ddp-exp/LICENSE").read_bytes(), 0o644)
    contents[f"{info}/METADATA"] = (metadata(version, torch, arrow).encode(), 0o644)
    contents[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: ddp-exp\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    record = "".join(record_line(path, content) for path, (content, _) in sorted(contents.items()))
    target = folder / f"ddp_exp-{version}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        # RECORD is the last entry, as the format recommends.
        for path, (content, mode) in [*sorted(contents.items()),
                                      (f"{info}/RECORD", ((record + f"{info}/RECORD,,\n").encode(), 0o644))]:
            entry = zipfile.ZipInfo(path, entries.zip_date())
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return target
