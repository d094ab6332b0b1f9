"""Every command of docs/documents.md works, in its order, and the document has every experiment file. The commands of
docs/SKILL.md work too."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
TEXT = (SOURCE / "docs/documents.md").read_text()
NO_GPUS = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}  # equal on all machines; scripts/gpu-check runs them on GPUs
COMMANDS = re.findall(r"`(ddp-exp [^`]*)`", TEXT)
SKILL = (SOURCE / "docs/SKILL.md").read_text()


def names_gpus(words):
    return any(re.search(r"device_pool=\[+\d", word) for word in words)


def names_machines(words):
    """The setup of tests/cluster: two machines that meet."""
    return "--nnodes" in words


def run(command, folder):
    words = [os.environ["DDP_EXP"], *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=NO_GPUS)
    if names_gpus(words):
        refused = done.returncode == 2 and re.search(r"needs \d devices, this machine has 0", done.stderr)
        assert refused, f"{command} exited with {done.returncode}:\n{done.stderr}"
        print("refused without GPUs:", command)
        return
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    print("works:", command)


def skill_works(folder):
    """A block that begins with "# NAME" is a file; the lines of blocks for a console are a shell's."""
    (folder / "experiments").symlink_to(SOURCE / "experiments")
    for name, text in re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", SKILL, re.M | re.S):
        (folder / name).write_text(text)
    commands = re.findall(r"^\$ (.*)", "".join(re.findall(r"^```console\n(.*?)^```", SKILL, re.M | re.S)), re.M)
    assert len(commands) >= 10, commands
    path = f"{pathlib.Path(os.environ['DDP_EXP']).parent}:{os.environ['PATH']}"
    for command in commands:
        words = ["bash", "-e", "-o", "pipefail", "-c", command]
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=NO_GPUS | {"PATH": path})
        assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        print("works:", command)


assert len(COMMANDS) >= 20, COMMANDS
# The document has no experiments on real data: the README and docs/data.md name them.
OTHERS = (SOURCE / "README.md").read_text() + (SOURCE / "docs/data.md").read_text()
for experiment in (SOURCE / "experiments").glob("*.toml"):
    name = f"/{experiment.name}"
    assert name in OTHERS or any(name in command for command in COMMANDS), experiment.name
with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    (folder / "experiments").symlink_to(SOURCE / "experiments")
    for command in COMMANDS:
        if not names_machines(shlex.split(command)):
            run(command, folder)
with tempfile.TemporaryDirectory() as scratch:
    skill_works(pathlib.Path(scratch))
