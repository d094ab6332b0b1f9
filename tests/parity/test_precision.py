"""bf16 and fp16 on the CPU: the casts of torch.autocast and the scale of GradScaler, bit for bit; and channels_last.

Compares training, validation and test as in the other tests, and then eval and predict with the checkpoint.
"""

import json
import os
import subprocess
import sys
import tempfile

from parity import case, check  # before numpy: it keeps numpy from starting threads

import numpy as np

from device import ON_GPUS

ROWS = 90
ADAM = {"name": "adamw", "lr": 0.01}
MLP = {"name": "mlp", "in_features": 20, "hidden": [13, 37], "out_features": 4, "dropout": 0.1}
LAYERS = [
    {"type": "Conv2d", "in_channels": 3, "out_channels": 8, "kernel_size": 3, "padding": 1},
    {"type": "BatchNorm2d", "num_features": 8},
    {"type": "ReLU"},
    {"type": "MaxPool2d", "kernel_size": 2},
    {"type": "Conv2d", "in_channels": 8, "out_channels": 5, "kernel_size": 3},
    {"type": "Flatten"},
    {"type": "Linear", "in_features": 20, "out_features": 4},
]
HELD_OUT = {"split": 0.2}
SCALED = {"name": "sgd", "lr": 0.001, "fused": False}
HERE = os.path.dirname(os.path.abspath(__file__))


def write_data(folder):
    draw = np.random.default_rng(1)
    arrays = {
        "rows": draw.standard_normal((ROWS, 20), dtype=np.float32),
        "images": draw.standard_normal((ROWS, 3, 8, 8), dtype=np.float32),
        "classes": draw.integers(0, 4, ROWS),
        "numbers": 50 * draw.standard_normal((ROWS, 4), dtype=np.float32),  # their gradients overflow fp16 at first
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, f"{name}.npy"), array)


def export_cnn(folder):
    script = os.path.join(HERE, "exported_models.py")
    subprocess.run([sys.executable, script, folder, "Cnn"], check=True, stdout=subprocess.DEVNULL)
    return {"name": "exported", "path": os.path.join(folder, "Cnn.pt2")}


def cases(folder):
    def npy(inputs, targets):
        return {"name": "npy", "inputs": os.path.join(folder, f"{inputs}.npy"), "targets": os.path.join(folder, f"{targets}.npy")}  # fmt: skip

    def images(title, **experiment):
        options = {"model": {"name": "sequential", "layers": LAYERS}, "dataset": npy("images", "classes")}
        return case(title, **(options | {"loss": "cross_entropy", "validation": HELD_OUT} | experiment))

    far = {"model": MLP, "dataset": npy("rows", "numbers"), "precision": "fp16", "validation": HELD_OUT}
    exported = export_cnn(folder)
    both = ("bf16", "fp16")
    return [
        *(case(f"{p}, a perceptron, one rank", world=1, model=MLP, precision=p, validation=HELD_OUT) for p in both),
        *(case(f"{p}, a perceptron, two ranks, resumed", model=MLP, precision=p, first={"epochs": 1}) for p in both),
        *(case(f"{p}, accumulated", model=MLP, precision=p, accumulate=3, optimizer=ADAM) for p in both),
        *(images(f"{p}, convolutions and batch norm, one rank", world=1, precision=p) for p in both),
        *(images(f"{p}, convolutions and batch norm, two ranks", precision=p, optimizer=ADAM) for p in both),
        *(images(f"{p}, a model written in Python", model=exported, precision=p) for p in both),
        case("fp16, gradients that are not finite at first, one rank", world=1, optimizer=SCALED, **far),
        case("fp16, gradients that are not finite at first, two ranks", optimizer=ADAM, **far),
        case("fp16, the same, clipped, averaged, resumed", optimizer=ADAM, clip={"norm": 1.0}, ema={"decay": 0.9},
             first={"epochs": 1}, **far),
        images("channels_last, one rank", world=1, channels_last=True),
        images("channels_last, two ranks, clipped", channels_last=True, clip={"norm": 0.5}, optimizer=ADAM),
        images("channels_last, resumed", channels_last=True, optimizer=ADAM, first={"epochs": 1}),
        images("channels_last in bf16, averaged", channels_last=True, precision="bf16", ema={"decay": 0.9}),
        images("channels_last, a model written in Python", model=exported, channels_last=True),
    ]  # fmt: skip


def check_use(folder):
    """predict and eval of a run in bf16 against Python's forward under autocast with its weights."""
    import torch
    from safetensors.torch import load_file

    from components import sequential
    from program import call, complete, to_toml

    torch.set_num_threads(1)
    file, results = os.path.join(folder, "used.toml"), os.path.join(folder, "results")
    inputs = os.path.join(folder, "images.npy")
    experiment = {
        "model": {"name": "sequential", "layers": LAYERS}, "loss": "cross_entropy", "batch_size": 8, "epochs": 2,
        "optimizer": ADAM,
        "dataset": {"name": "npy", "inputs": inputs, "targets": os.path.join(folder, "classes.npy")},
        "validation": HELD_OUT, "precision": "bf16", "ema": {"decay": 0.5}, "channels_last": True,
    }  # fmt: skip
    with open(file, "w") as out:
        out.write(to_toml(complete(experiment, 2, "shm")))
    call("run", file, "--results", results, "--run-id", "1")
    checkpoint = os.path.join(results, "used", "1", "checkpoints", "latest")
    x = torch.from_numpy(np.load(inputs))
    wrong = 0
    for flags, weights in ([], "ema"), (["--raw"], "model"):
        model = sequential(layers=LAYERS)
        model.load_state_dict(load_file(os.path.join(checkpoint, f"{weights}.safetensors")))
        model.to(memory_format=torch.channels_last).eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = [model(part.clone().to(memory_format=torch.channels_last)).float() for part in x.split(8)]
        expected = torch.cat([torch.softmax(part, 1) for part in outputs]).numpy()
        out = os.path.join(folder, "out.npy")
        common = ["used/1", "--results", results, "--from", "latest", *flags]
        call("predict", *common[:1], inputs, *common[1:], "-o", out)
        same = np.load(out).tobytes() == expected.tobytes()
        exported = os.path.join(folder, "out.safetensors")
        call("export", "used/1", exported, *common[1:])
        with open(exported, "rb") as got, open(os.path.join(checkpoint, f"{weights}.safetensors"), "rb") as kept:
            same = same and got.read() == kept.read()
        measured = json.loads(call("eval", *common, "--json"))["metrics"]
        if weights == "ema":  # the weights that training measured
            with open(os.path.join(results, "used", "1", "metrics.jsonl")) as events:
                last = [e for e in map(json.loads, events) if e["event"] == "epoch"][-1]
            same = same and measured == {key: last[key] for key in measured}
        print(f"{'same' if same else 'DIFFERS':8}predict, export and eval {' '.join(flags)}", flush=True)
        wrong += not same
    return wrong


with tempfile.TemporaryDirectory(prefix="ddp-exp-parity-") as folder:
    write_data(folder)
    failed = check(cases(folder))
    if not ON_GPUS and (len(sys.argv) == 1 or "use" in sys.argv[1:]):
        failed += check_use(folder)
sys.exit(1 if failed else 0)
