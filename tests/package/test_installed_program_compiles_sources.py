"""An installed program, moved and read-only, compiles a user's own model with its installed headers and trains it, also
for another user."""

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
    trains_from_a_folder_that_others_own(prefix, folder / "sources of root", home)


def trains_from_a_folder_that_others_own(prefix, sources, home):
    sources.mkdir()
    installing.run_elsewhere([prefix / "bin/ddp-exp", "new", "model", "theirs"], sources)
    sources.chmod(0o555)
    tries_to_write = 'if touch "$1/new" 2>/dev/null; then echo writable; fi; exec "$0" run "$1/theirs.toml"'
    said = installing.as_a_stranger(["sh", "-ec", tries_to_write, prefix / "bin/ddp-exp", sources], prefix, home)
    assert "writable" not in said, said
    summary = json.loads((home / "results/theirs/latest/summary.json").read_text())
    assert summary["status"] == "completed", summary
    assert sorted(file.name for file in sources.iterdir()) == ["theirs.cpp", "theirs.toml"]
    kept = home / "results/theirs/latest/sources/theirs.cpp"
    assert kept.read_bytes() == (sources / "theirs.cpp").read_bytes()


if __name__ == "__main__":
    installing.require_release_build()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch).chmod(0o755)
        main(pathlib.Path(scratch).resolve())
