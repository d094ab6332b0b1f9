"""Puts LibTorch into lib/ of a prefix, where the installed program finds it: as hard links if the file system allows
them and other users may read the files, else as copies."""

import errno
import os
import pathlib
import shutil
import stat

LICENSES = "share/doc/ddp-exp/licenses/libtorch"
PLACES = ("lib/torch/", "lib/nvidia/", f"{LICENSES}/")
PATTERNS = ("torch/version.py", "torch/lib/*.so*", "torch/include/**/*", "nvidia/**/*.so*")


def link_or_copy(file, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.stat().st_mode & stat.S_IROTH:
        try:
            os.link(file, target)
            return
        except OSError as error:
            # Another file system, or a file system without hard links. The copy below never writes through a link.
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
                raise
    shutil.copyfile(file, target)


def lay_out(folder, stage):
    """Links or copies torch/ and nvidia/ of a folder, and their licenses, into the stage."""
    for pattern in PATTERNS:
        for file in filter(pathlib.Path.is_file, folder.glob(pattern)):
            link_or_copy(file.resolve(), stage / "lib" / file.relative_to(folder))
    for pattern in ("*.dist-info/LICEN*", "*.dist-info/licenses/**/*"):
        for file in filter(pathlib.Path.is_file, folder.glob(pattern)):
            link_or_copy(file.resolve(), stage / LICENSES / file.relative_to(folder))
