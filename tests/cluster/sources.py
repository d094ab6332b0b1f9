"""A user's own model, in two files that tests write to a folder."""

import os
import subprocess

from programs import PROGRAM, sets

SETS = sets(sources='["own.cpp"]', model='{ name = "own", width = 8 }')
# The first use of a source compiles it, on a machine that is busy with other work too.
PATIENCE = 240


def write_sources(folder, header=""):
    """Writes own.cpp with the model "own", and own.h, which it includes."""
    folder.mkdir(exist_ok=True)
    subprocess.run([PROGRAM, "new", "model", "own"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "own.toml").unlink()
    text = (folder / "own.cpp").read_text()
    (folder / "own.cpp").write_text('#include "own.h"\n' + text)
    (folder / "own.h").write_text(f"#pragma once\n{header}\n")


def keep_compiled_in(folder):
    """All programs started from now on keep their compiled sources there."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
