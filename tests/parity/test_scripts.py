"""Six training scripts of Python under torchrun, and the experiment files that replace them: the same weights, bit for
bit, and the times of both.

The first line of each experiment file is the command that exports its model.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import safetensors.torch
import torch

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
SCRIPTS = pathlib.Path(__file__).parent / "scripts"
PROGRAM = os.environ["DDP_EXP"]


def write_data(folder):
    draw = np.random.default_rng(1)
    (folder / "cifar").mkdir()
    images = draw.integers(0, 256, (500, 3073), dtype=np.uint8)
    images[:, 0] %= 10
    for number, part in enumerate(np.array_split(images, 5), start=1):
        part.tofile(folder / f"cifar/data_batch_{number}.bin")
    np.save(folder / "ids.npy", draw.integers(0, 256, (250, 64)))
    lengths = draw.integers(8, 49, (300, 1))
    ids = draw.integers(1, 256, (300, 48))
    np.savez(folder / "texts.npz", ids=ids, mask=(np.arange(48) < lengths).astype(np.int64), kinds=ids[:, 0] % 2)
    np.save(folder / "pixels.npy", draw.random((1000, 64), dtype=np.float32))
    x = draw.standard_normal((1000, 32), dtype=np.float32)
    np.savez(folder / "pairs.npz", x=x, y=x[:, :24] + 0.1 * draw.standard_normal((1000, 24), dtype=np.float32))
    series = draw.standard_normal((1000, 20, 6), dtype=np.float32)
    np.savez(folder / "sales.npz", series=series, constants=draw.standard_normal((1000, 3), dtype=np.float32),
             shop=draw.integers(0, 10, 1000), amount=series.sum((1, 2)))  # fmt: skip


def timed(command, folder):
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.monotonic() - start


def check(name, folder):
    """Returns whether both sides end with the same weights; prints the times."""
    for suffix in ("py", "toml"):
        (folder / f"{name}.{suffix}").write_text((SCRIPTS / f"{name}.{suffix}").read_text())
    command = shlex.split((folder / f"{name}.toml").read_text().splitlines()[0].removeprefix("# $ "))
    export = timed([sys.executable, str(SOURCE / "python" / command[0]), *command[1:]], folder)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    script = timed([*torchrun, f"{name}.py"], folder)
    program = timed([PROGRAM, "run", f"{name}.toml", "--set", "distributed.backend=gloo"], folder)
    timed([PROGRAM, "export", f"results/{name}/latest", f"{name}.safetensors"], folder)
    ours, theirs = safetensors.torch.load_file(folder / f"{name}.safetensors"), torch.load(folder / f"{name}.pt")
    differing = [key for key in ours if not torch.equal(ours[key], theirs[key])]
    steps = json.loads((folder / f"results/{name}/latest/summary.json").read_text())["steps"]
    print(f"{'DIFFERS' if differing else 'same':8}{name}: {steps} steps, script {script:.1f} s, ddp-exp {program:.1f} s "
          f"({script / program:.1f}x), export {export:.1f} s", *differing, flush=True)  # fmt: skip
    return not differing and len(ours) > 0


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(path.stem for path in SCRIPTS.glob("*.py"))
    with tempfile.TemporaryDirectory(prefix="ddp-exp-scripts-") as scratch:
        place = pathlib.Path(scratch)
        write_data(place)
        same = [check(name, place) for name in names]
    print(f"{sum(same)} of {len(same)} scripts are the same bit for bit")
    sys.exit(not all(same))
