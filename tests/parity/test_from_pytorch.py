"""Every code block of docs/from-pytorch.md works, in its order, and its tables name keys of the experiment file."""

import json
import os
import pathlib
import re
import runpy
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
TEXT = (SOURCE / "docs/from-pytorch.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.M | re.S)
COMMANDS = "".join(block for language, block in BLOCKS if language == "sh")


def run_script(path, *words):
    """In this process: importing torch and transformers takes longer than an export."""
    sys.argv = [str(path), *words]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        assert not end.code, f"{path} {shlex.join(words)}: {end.code}"


def run(command):
    program, *words = shlex.split(command)
    if (program, words[0]) == ("python3", "python/export_model.py"):
        return run_script(SOURCE / words[0], *words[1:])
    assert program == "ddp-exp", command
    done = subprocess.run([os.environ["DDP_EXP"], *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"


def name_of(block):
    return re.match(r"# (\S+)\n", block)[1]


def check_tables():
    """A key `section.key` in a table is one of the experiment file's."""
    said = subprocess.run([os.environ["DDP_EXP"], "schema"], capture_output=True, text=True, check=True).stdout
    keys = json.loads(said)["properties"]
    sections = ("distributed", "clip", "ema", "loader", "validation", "test", "checkpoint", "stop", "log")
    named = re.findall(r"`(\w+)\.(\w+)(?: = [^`]*)?`", "".join(re.findall(r"^\|.*\n", TEXT, re.M)))
    checked = [(section, key) for section, key in named if section in sections]
    assert len(checked) > 20, checked
    for section, key in checked:
        table = json.dumps(keys[section])
        assert f'"{key}"' in table, f"{section}.{key} is no key of the experiment file"


check_tables()
with tempfile.TemporaryDirectory(prefix="ddp-exp-page-") as scratch:
    os.chdir(scratch)
    for language, block in BLOCKS:
        if language in ("python", "toml"):
            pathlib.Path(name_of(block)).write_text(block)
    for language, block in BLOCKS:
        if language == "python" and name_of(block) not in COMMANDS:
            run_script(name_of(block))
            print("works:", name_of(block), flush=True)
        for command in block.splitlines() if language == "sh" else ():
            run(command)
            print("works:", command, flush=True)
    from safetensors.torch import load_file
    from transformers import GPT2LMHeadModel

    back, sent = GPT2LMHeadModel.from_pretrained("trained").state_dict(), load_file("trained.safetensors")
    assert all(back[name].equal(tensor) for name, tensor in sent.items()) and len(sent) > 20, "save_pretrained loses weights"
    os.chdir(SOURCE)
