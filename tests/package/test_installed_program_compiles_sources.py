"""An installed program, moved and read-only, compiles a user's own model and trains it: with its own headers, and for
another user."""

import json
import os
import pathlib
import tempfile

import installing


def main(folder):
    first = installing.install(folder / "first")
    prefix = folder / "moved here"
    first.rename(prefix)
    home = folder / "home of nobody"
    home.mkdir()
    writes_and_trains = '"$0" new model mine && exec "$0" run mine.toml'
    installing.as_a_stranger(["sh", "-ec", writes_and_trains, prefix / "bin/ddp-exp"], prefix, home)
    (run,) = (home / "results").glob("*/latest")
    summary = json.loads((run / "summary.json").read_text())
    assert summary["status"] == "completed", summary
    assert '"mine"' in (run / "config.toml").read_text()


if __name__ == "__main__":
    installing.require_release_build()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch).chmod(0o755)
        main(pathlib.Path(scratch).resolve())
