"""The forecast of `plan` is within 5 % of the memory that rank 0 of the run has at its peak, beyond that of a rank that
trains a tiny model, for runs that replay steps; within 12 % for runs that do not. Arguments choose configurations by a
part of their names."""

import array
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

from programs import PROGRAM, children, sets  # noqa: E402

WITHIN = {"replayed": 0.05, "eager": 0.12}  # malloc finds other places for eager steps from run to run
# The kernel maps pages of libraries around those that a process reads, if they are in its cache: on a machine that does
# other work their number changes from minute to minute, by more than the forecast may be wrong.
TRIES = 3
MIB = 1 << 20
IMAGES = 'dataset = { name = "npy", inputs = "images.npy", targets = "classes.npy" }\nloss = "cross_entropy"\n'
TOKENS = 'dataset = { name = "npy", inputs = "tokens.npy", targets = "next.npy" }\nloss = "cross_entropy"\n'
PAIRS = 'dataset = "random_pairs"\nloss = "mse"\n'
MODELS = {
    "tiny": PAIRS + 'model = "linear"\n',
    "mlp": PAIRS + "model = { name = 'mlp', in_features = 20, hidden = [1536, 1536], out_features = 1 }\n",
    "resnet": IMAGES + 'model = "resnet18"\n',
    "vit": IMAGES + "model = { name = 'vit', patch_size = 8, num_layers = 6, num_heads = 3, hidden_dim = 192, mlp_dim = 768 }\n",
    "gpt": TOKENS + "model = { name = 'gpt', n_layer = 4, n_head = 4, n_embd = 192, block_size = 64, vocab_size = 61 }\n",
}  # fmt: skip
COMMON = """
optimizer   = { name = "sgd", lr = 0.001 }
device_pool = ["cpu"]
threads     = 1
batch_size  = 16
steps       = 12
"""
TWO = {"device_pool": '["cpu", "cpu"]'}
CONFIGURATIONS = [
    ("mlp", {"batch_size": 64}),
    ("mlp", {"optimizer__name": '"adamw"', "batch_size": 256}),
    ("mlp", {"optimizer__name": '"adamw"', "replay": '"off"'}),
    ("mlp", {"ema__every": 1, "save_every": 1, "batch_size": 128}),
    ("mlp", {"accumulate": 5, "batch_size": 64}),
    ("mlp", {"optimizer__name": '"adamw"', **TWO}),
    ("mlp", {"optimizer__name": '"adamw"', "distributed__shard": '"none"', **TWO}),
    ("resnet", {}),
    ("resnet", {"batch_size": 32, "replay": '"off"'}),
    ("resnet", {"precision": '"bf16"', "optimizer__momentum": 0.9}),
    ("resnet", {"accumulate": 2, "batch_size": 8}),
    ("resnet", {"validation__split": 0.2, "epochs": 2}),
    ("resnet", TWO | {"batch_size": 8}),
    ("vit", {"optimizer__name": '"adamw"'}),
    ("vit", {"optimizer__name": '"adamw"', "replay": '"off"', "batch_size": 48}),
    ("vit", TWO | {"precision": '"bf16"'}),
    ("gpt", {"optimizer__name": '"adamw"', "batch_size": 24}),
    ("gpt", {"optimizer__name": '"adamw"', "replay": '"off"', "batch_size": 48}),
    ("gpt", {"optimizer__name": '"lion"', "model__dropout": 0.1, "ema__every": 2}),
    ("gpt", TWO | {"distributed__backend": '"gloo"', "distributed__shard": '"optimizer"', "batch_size": 8}),
]


def write_npy(file, numbers, shape, kind):
    """`kind`: of numpy and of array."""
    head = f"{{'descr': '<{kind[1:]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array(kind[0], numbers).tobytes())


def write_data(folder):
    draw = random.Random(7)
    write_npy(folder / "images.npy", (draw.random() for _ in range(192 * 3 * 64 * 64)), (192, 3, 64, 64), "ff4")
    write_npy(folder / "classes.npy", (draw.randrange(10) for _ in range(192)), (192,), "qi8")
    for name in ("tokens.npy", "next.npy"):
        write_npy(folder / name, (draw.randrange(61) for _ in range(600 * 64)), (600, 64), "qi8")


def resident(pid):
    """The most bytes of memory that a process has had; 0: it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def measured(folder, file, settings):
    """The most memory of a process of the run, and the most that was seen of the one that lived longest: of its rank."""
    words = [PROGRAM, "run", file, "--results", folder / "results", "-q", *settings]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    seen = {}
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for pid in children(process.pid):
            seen.setdefault(pid, []).append(resident(pid))
        time.sleep(0.002)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, words
    return usage.ru_maxrss * 1024, max(max(seen.values(), key=len))


def experiment(folder, model, settings):
    file = folder / f"{model}.toml"
    common = COMMON.replace("steps ", "# ") if "epochs" in settings else COMMON
    file.write_text(MODELS[model] + common)
    return file, sets(**settings)


def forecast(folder, file, settings):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:  # which keeps forecasts
        words, environment = [PROGRAM, "plan", file, "--json", *settings], dict(os.environ, XDG_CACHE_HOME=cache)
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    memory = plan["memory"]
    assert memory["reason"] is None, memory
    assert sum(memory[part] for part in memory if part not in ("peak", "reason")) >= memory["peak"], memory
    return memory, plan["replay"]["reason"] is None, time.monotonic() - begun


def main(folder):
    write_data(folder)
    tiny = experiment(folder, "tiny", {"batch_size": 1, "steps": 2000})
    wrong = []
    for model, given in CONFIGURATIONS:
        name = f"{model} " + " ".join(f"{key}={value}" for key, value in given.items())
        if not all(word in name for word in sys.argv[1:]):
            continue
        file, settings = experiment(folder, model, given)
        for _ in range(TRIES):
            memory, replays, seconds = forecast(folder, file, settings)
            peak = measured(folder, file, settings)[0] - measured(folder, *tiny)[1]
            error, how = memory["peak"] / peak - 1, "replayed" if replays else "eager"
            print(f"{memory['peak'] / MIB:8.1f} MiB forecast in {seconds:4.1f} s {peak / MIB:8.1f} MiB measured {error:+6.1%} {how}: {name}", flush=True)
            if abs(error) <= WITHIN[how]:
                break
        else:
            wrong.append(name)
    assert not wrong, wrong


with tempfile.TemporaryDirectory() as scratch:
    main(pathlib.Path(scratch))
