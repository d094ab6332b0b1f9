"""bash, zsh and fish complete commands, options, files, runs and settings by calling the program, which loads no torch
for it. The test skips shells that are not installed."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from shells import PROGRAM, Shell, installed

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
BASIC = "ddp-exp run experiments/basic.toml"
LINES = {
    "ddp-exp resu": "ddp-exp resume ",
    "scripts/ddp-exp resu": "scripts/ddp-exp resume ",
    "ddp-exp run exp": "ddp-exp run experiments/",
    "ddp-exp run experiments/bas": BASIC + " ",
    "ddp-exp run ~/exp": "ddp-exp run ~/experiments/",
    "ddp-exp run my": "ddp-exp run my\\ own.toml ",
    "ddp-exp run my\\ o": "ddp-exp run my\\ own.toml ",
    BASIC + " --dry": BASIC + " --dry-run ",
    BASIC + " --set load": BASIC + " --set loader.",
    BASIC + " --set optimizer.lr": BASIC + " --set optimizer.lr=",
    BASIC + " --set loader.shuffle=t": BASIC + " --set loader.shuffle=true ",
    BASIC + " --set optimizer=ad": BASIC + " --set optimizer=ada",
    BASIC + " --set optimizer=adamw --set optimizer.bet": BASIC + " --set optimizer=adamw --set optimizer.betas=",
    BASIC + " --set stop.metric=train_l": BASIC + " --set stop.metric=train_loss ",
    BASIC + " --set scheduler=plateau --set scheduler.metric=val_los": BASIC + " --set scheduler=plateau --set scheduler.metric=val_loss ",
    BASIC + " --init-from bas": BASIC + " --init-from basic ",
    "ddp-exp resume bas": "ddp-exp resume basic ",
    "ddp-exp resume basic/mi": "ddp-exp resume basic/mine ",
    "ddp-exp resume basic --from la": "ddp-exp resume basic --from latest ",
    "ddp-exp resume basic --from 3": "ddp-exp resume basic --from 32 ",
    "ddp-exp eval bas": "ddp-exp eval basic ",
    "ddp-exp eval basic --set loader.wo": "ddp-exp eval basic --set loader.workers=",
    "ddp-exp predict bas": "ddp-exp predict basic ",
    "ddp-exp predict basic peo": "ddp-exp predict basic people.csv ",
    "ddp-exp predict basic people.csv -o ans": "ddp-exp predict basic people.csv -o answers.csv ",
    "ddp-exp generate bas": "ddp-exp generate basic ",
    "ddp-exp generate basic --temp": "ddp-exp generate basic --temperature ",
    "ddp-exp export basic wei": "ddp-exp export basic weights.safetensors ",
    "ddp-exp completion fi": "ddp-exp completion fish ",
    "ddp-exp schema summ": "ddp-exp schema summary ",
}  # fmt: skip


def asked(*words):
    """The candidates without their descriptions."""
    done = subprocess.run([PROGRAM, "__complete", *words], capture_output=True, check=True, text=True)
    assert not done.stderr, done.stderr
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


with tempfile.TemporaryDirectory(prefix="ddp-completion-") as name:
    os.chdir(name)
    shutil.copytree(SOURCE / "experiments", "experiments")
    basic = pathlib.Path("experiments/basic.toml").read_text()
    pathlib.Path("my own.toml").write_text('name = "mine"\n' + basic)
    for file in ("notes.txt", "people.csv", "answers.csv", "weights.safetensors"):
        pathlib.Path(file).touch()
    pathlib.Path("scripts").symlink_to(SOURCE / "scripts")
    subprocess.run([PROGRAM, "run", "experiments/basic.toml", "--set", "epochs=1", "--run-id", "mine"], check=True,
                   capture_output=True)  # fmt: skip

    verbs = asked("")
    for verb in ("run", "resume", "fork", "plan", "validate", "schema", "list", "completion"):
        assert verb in verbs, verbs
    assert asked("run", "") == ["experiments/", "my own.toml", "results/", "scripts/"], asked("run", "")
    assert asked("resume", "") == ["latest", "basic"]
    folder = pathlib.Path("results/swept/20260102-030405-w4fg/trials/007")
    folder.mkdir(parents=True)
    (folder.parent.parent / "sweep.toml").touch()
    assert asked("show", "swept/") == ["swept/20260102-030405-w4fg", "swept/20260102-030405-w4fg/"], asked("show", "swept/")
    assert asked("show", "swept/20260102-030405-w4fg/") == ["swept/20260102-030405-w4fg/007"]
    assert asked("show", "2026") == ["20260102-030405-w4fg"] and asked("show", "202") == []
    shutil.rmtree("results/swept")
    assert asked("resume", "basic") == ["basic", "basic/latest", "basic/mine"]
    assert asked("fork", "basic/m") == ["basic/mine"]
    assert asked("fork", "basic/mine", "--from", "") == ["latest", "best", "32"]
    assert asked("resume", "--results", "elsewhere", "") == ["latest"]
    sweep = ("sweep", "experiments/digits_sweep.toml", "--set")
    assert "sweep." in asked(*sweep, "sw") and "sweep.method=" in asked(*sweep, "sweep.m"), asked(*sweep, "sweep.")
    metrics = asked("list", "--sort", "val_")
    assert metrics[:2] == ["val_loss", "val_accuracy"] and "val_auroc" in metrics and "val_confusion" not in metrics, metrics
    assert asked("resume", "results/basic/") == ["results/basic/latest/", "results/basic/mine/"]
    # Options of the component that the file or an earlier --set selects.
    assert "optimizer.momentum=" in asked("run", "my own.toml", "--set", "optimizer.")
    assert "optimizer.momentum=" not in asked("run", "my own.toml", "--set", "optimizer=adam", "--set", "optimizer.")
    assert "optimizer.amsgrad=" in asked("run", "--set", "optimizer=adam", "my own.toml", "--set", "optimizer.")
    assert asked("run", "--set", "backend=g") == ["backend=gloo"]
    assert asked("run", "--set=backend=g") == ["--set=backend=gloo"]
    assert "--master-port" in asked("run", "--m") and "--master_port" not in asked("run", "--m")
    for nothing in (["run", "--seed", "nonsense.toml", "--set", "no.such="], ["no-such-verb", ""], ["run", "--epochs="]):
        assert asked(*nothing) == [], nothing

    # Damaged or hostile names give no candidates; a damaged file gives the candidates that need no file.
    pathlib.Path("broken.toml").write_text("model = [[[")
    assert "optimizer.lr=" in asked("run", "broken.toml", "--set", "optimizer.")
    pathlib.Path("broken.toml").unlink()
    for hostile in ("a\nb", "\x1b[2J", "ok"):
        pathlib.Path("results", hostile).mkdir()
    assert asked("resume", "") == ["latest", "basic", "ok"]

    traced = subprocess.run([PROGRAM, "__complete", "run", "my own.toml", "--set", "model."], capture_output=True, text=True,
                            env=os.environ | {"LD_DEBUG": "libs"})  # fmt: skip
    assert "libddp_core" in traced.stderr and "libtorch" not in traced.stderr

    for shell in ("bash", "zsh", "fish"):
        if not installed(shell):
            print(f"{shell} is not installed: not tested")
            continue
        terminal = Shell(shell, name)
        for typed, becomes in LINES.items():
            line = terminal.after(typed + "\t")
            assert line == becomes, f"{shell}: {typed!r} becomes {line!r}, not {becomes!r}"
        terminal.close()
        print(f"{shell} completes {len(LINES)} lines")
