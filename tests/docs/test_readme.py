"""Every command of README.md works as it stands there, and its model is built and trains."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
PROGRAM = pathlib.Path(os.environ["DDP_EXP"])
README = (SOURCE / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def run(command, folder, **environment):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def commands_work(folder):
    """In a folder that looks like the checkout, so that results/ is not written there."""
    for name in ("scripts", "experiments"):
        (folder / name).symlink_to(SOURCE / name)
    commands = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 8, commands
    for command in commands:
        run(shlex.split(command), folder)
        print("works:", command)
    basic = json.loads((folder / "results/basic/latest/summary.json").read_text())
    assert (basic["status"], basic["epochs"]) == ("completed", 12), basic
    digits = json.loads((folder / "results/digits/latest/summary.json").read_text())
    assert digits["final"]["val_accuracy"] >= 0.97, digits["final"]
    sweep = json.loads((folder / "results/digits_sweep/latest/summary.json").read_text())
    assert (sweep["status"], sweep["completed"]) == ("completed", 12), sweep
    faster = json.loads((folder / "results/faster/latest/summary.json").read_text())
    assert faster["epochs"] == 3, faster


def compile_command_of_models():
    """How the build compiles the files of models/."""
    for entry in json.loads((PROGRAM.parent.parent / "compile_commands.json").read_text()):
        if "/objects_models.dir/" in entry["command"]:
            return shlex.split(entry["command"])
    raise AssertionError("no compile command for models")


def model_trains(folder):
    """Beside a copy of the program, as a library that registers the README's model in it."""
    (folder / "two_layers.cpp").write_text(blocks("cpp")[0])
    command = compile_command_of_models()
    if "ccache" in command[0]:
        command = command[1:]
    command = command[: command.index("-MD")] if "-MD" in command else command[: command.index("-o")]
    shutil.copytree(PROGRAM.parent, folder / "bin")
    run([*command, "-shared", "two_layers.cpp", "-o", "bin/libtwo_layers.so"], folder)
    loaded = {"LD_PRELOAD": f"{folder}/bin/libddp_rank.so {folder}/bin/libtwo_layers.so"}
    run(["bin/describe_components", "bin/components.json"], folder, **loaded)
    asked = ["--set", "model.name=two_layers", "--set", "model.width=128", "--name", "two"]
    run(["bin/ddp-exp", "run", str(SOURCE / "experiments/basic.toml"), *asked], folder, **loaded)
    summary = json.loads((folder / "results/two/latest/summary.json").read_text())
    assert summary["final"]["train_loss"] < 0.2, summary["final"]
    print("trains: the README's model")
    split = ["bin/ddp-exp", "run", str(SOURCE / "experiments/basic.toml"), *asked, "--set", "parallel=data_parallel"]
    done = subprocess.run(split, cwd=folder, capture_output=True, text=True, env={**os.environ, **loaded})
    assert done.returncode == 2 and "this model cannot be copied onto several devices" in done.stderr, done.stderr
    print("refused: data_parallel, for which a model must be cloneable")


for check in (commands_work, model_trains):
    with tempfile.TemporaryDirectory() as scratch:
        check(pathlib.Path(scratch))
sys.stdout.flush()
