"""An installation that is moved and made read-only trains for a user who owns no file of it; man and the shells find
their parts."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import installing


def trains(prefix, folder):
    folder.mkdir()
    tries_to_write = 'if touch "$1/lib/ddp-exp/new" 2>/dev/null; then echo writable; fi; shift; exec "$@"'
    said = installing.as_a_stranger(["sh", "-c", tries_to_write, "sh", prefix, prefix / "bin/ddp-exp", "run",
                                     prefix / "share/ddp-exp/experiments/basic.toml"], prefix, folder)
    assert "writable" not in said, said
    summary = json.loads((folder / "results/basic/latest/summary.json").read_text())
    assert (summary["status"], summary["epochs"]) == ("completed", 10), summary
    if installing.can_hide_folders():
        assert (folder / "results/basic/latest/summary.json").stat().st_uid == installing.NOBODY


def manual_tells_of_every_verb(prefix, folder):
    page = prefix / "share/man/man1/ddp-exp.1"
    helped = installing.run_elsewhere([prefix / "bin/ddp-exp", "--help"], folder)
    verbs = [line.split()[0] for line in helped.split("Commands:")[1].splitlines() if line.startswith("  ")
             and line[2] != " "]
    assert len(verbs) > 15, verbs
    text = page.read_text()
    for verb in verbs:
        assert f"\n.SS {verb}\n" in text, verb
    assert "\\fB\\-\\-max\\-restarts\\fR \\fIN\\fR" in text and "130 and 143" in text
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", page], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True)
        assert not done.stdout, done.stdout


def shells_complete(prefix, folder):
    share = prefix / "share"
    asks = 'PATH="$1/bin:$PATH"; source "$1/share/bash-completion/completions/ddp-exp"; '
    asks += 'COMP_LINE="ddp-exp resu" COMP_POINT=12; _ddp_exp; echo "${COMPREPLY[@]}"; complete -p ddp-exp'
    said = installing.run_elsewhere(["bash", "-c", asks, "bash", prefix], folder)
    assert said.startswith("resume\n") and "_ddp_exp" in said, said
    assert (share / "zsh/site-functions/_ddp-exp").read_text().startswith("#compdef ddp-exp\n")
    assert "complete -c ddp-exp" in (share / "fish/vendor_completions.d/ddp-exp.fish").read_text()
    if shutil.which("zsh"):
        # As the completion system reads it: a function with the file's name that defines the completing one.
        loads = 'fpath=($1/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -D -u; '
        loads += 'print -r -- ${_comps[ddp-exp]}; compadd() { print -r -- "${(@P)@[-1]}" }; PATH="$1/bin:$PATH"; '
        loads += 'words=(ddp-exp resu) CURRENT=2; _ddp-exp'
        said = installing.run_elsewhere(["zsh", "-fc", loads, "zsh", prefix], folder)
        assert said.splitlines() == ["_ddp-exp", "resume"], said


def names_nothing_of_the_build(prefix):
    for file in [prefix / "lib/ddp-exp/sdk.json", *(prefix / "lib/cmake").rglob("*.cmake"), *(prefix / "share").rglob("*")]:
        if file.is_file():
            assert str(installing.SOURCE).encode() not in file.read_bytes(), file


def main(folder):
    first = installing.install(folder / "first")
    prefix = folder / "moved here"
    first.rename(prefix)
    installing.run(["chmod", "-R", "a-w", prefix / "lib/ddp-exp"])
    manual_tells_of_every_verb(prefix, folder)
    shells_complete(prefix, folder)
    installing.check_headers(prefix / "lib/ddp-exp")
    names_nothing_of_the_build(prefix)
    trains(prefix, folder / "home of nobody")


if __name__ == "__main__":
    installing.require_release_build()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch).chmod(0o755)
        main(pathlib.Path(scratch).resolve())
