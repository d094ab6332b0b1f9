"""The sides and tables of scripts/gpu-bench."""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
ROUNDS = 3
LOSSES = 20  # as in peer.py
EAGER, COMPILED, OVERHEAD = "eager", "compiled", "reduce-overhead"
TITLES = {EAGER: "DDP, eager", COMPILED: "DDP, torch.compile", OVERHEAD: 'DDP, torch.compile "reduce-overhead"'}


@dataclasses.dataclass
class Case:
    name: str
    model: dict
    optimizer: dict
    batches: list  # the largest one that fits is measured
    rows: int
    loss: str = "cross_entropy"
    input: tuple = ()
    classes: int = 0
    block: int = 0  # tokens in a row; 0: the rows are arrays
    precision: str = "fp32"
    channels_last: bool = False
    hows: tuple = (EAGER, COMPILED, OVERHEAD)

    def words(self, **more):
        """The argument of peer.py."""
        return json.dumps(dataclasses.asdict(self) | more)

    def experiment(self, folder):
        if self.block:
            dataset = {"name": "tokens", "path": str(folder / "tokens.bin"), "block_size": self.block}
        else:
            dataset = {"name": "npy", "inputs": str(folder / "x.npy"), "targets": str(folder / "y.npy")}
        parts = {"dataset": dataset, "model": self.model, "optimizer": self.optimizer, "loss": self.loss, "seed": 0,
                 "precision": self.precision, "channels_last": self.channels_last, "threads": 1, "steps": 1,
                 "loader": {"shuffle": False}, "checkpoint": {"save_every": 0}}  # fmt: skip
        return "".join(f"{key} = {toml(value)}\n" for key, value in parts.items())


def cases(rehearsal):
    sgd = {"name": "sgd", "lr": 1e-3}
    momentum = sgd | {"momentum": 0.9}
    adamw = {"name": "adamw", "lr": 3e-4, "weight_decay": 0.1}

    def mlp(width, hidden, classes):
        return {"name": "mlp", "in_features": width, "hidden": hidden, "out_features": classes}

    gpt = {"name": "gpt", "n_layer": 12, "n_head": 12, "n_embd": 768, "block_size": 1024, "vocab_size": 50257}
    listed = [
        Case("toy", {"name": "toy"}, sgd, [20], 2000, "mse", (10,), 5),
        Case("mlp-784", mlp(784, [256, 256], 10), sgd, [64], 6400, "mse", (784,), 10),
        Case("mlp-2048", mlp(2048, [2048], 5), sgd, [20], 2000, "mse", (2048,), 5),
        Case("resnet18", {"name": "resnet18", "num_classes": 10, "small_images": True}, momentum, [128], 2560,
             input=(3, 32, 32), classes=10),
        Case("resnet50", {"name": "resnet50", "num_classes": 1000}, momentum, [128], 1024, input=(3, 224, 224), classes=1000,
             precision="bf16", channels_last=True, hows=(EAGER, COMPILED)),
        Case("gpt2", gpt, adamw, [64, 32, 16, 8], 256, block=1024, precision="bf16", hows=(EAGER, COMPILED)),
    ]  # fmt: skip
    if rehearsal:
        # torch.compile takes two minutes for a case on CPUs.
        listed = [dataclasses.replace(case, hows=(EAGER,) if number else (EAGER, COMPILED)) for number, case in enumerate(listed)]
        small = gpt | {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 32, "vocab_size": 100}
        listed[3] = dataclasses.replace(listed[3], batches=[4], rows=16)
        listed[4] = dataclasses.replace(listed[4], batches=[2], rows=8, input=(3, 64, 64))
        listed[5] = dataclasses.replace(listed[5], model=small, batches=[8, 4], block=32)
    return listed


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


class DoesNotFit(Exception):
    """The case takes more than the card's memory."""


class Memory:
    """The most memory of the card that was in use while it was watched, beyond what was before, in MiB."""

    def __init__(self, rehearsal):
        self.rehearsal, self.most = rehearsal, 0
        self.before = self.used()

    def used(self):
        if self.rehearsal:
            return 0
        said = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
        return float(said.stdout)

    def __enter__(self):
        self.ended = threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()

    def watch(self):
        while True:
            self.most = max(self.most, self.used() - self.before)
            if self.ended.wait(0.2):
                return

    def __exit__(self, *_):
        self.ended.set()
        self.watcher.join()


class DdpExp:
    """ddp-exp: each round is a run of its own."""

    def __init__(self, case, batch, folder, rehearsal):
        self.title, self.batch, self.folder, self.rehearsal = "ddp-exp", batch, folder, rehearsal
        self.memory = Memory(rehearsal)
        (folder / "bench.toml").write_text(case.experiment(folder))
        with self.memory:
            begun = time.time()
            events, ended = self.run(LOSSES)
        self.losses = [event["loss"] for event in events]
        self.first = ended - begun - (events[-1]["seconds"] - events[0]["seconds"])

    def run(self, steps):
        """Trains; returns the events of the steps, and the time of the end of the last one."""
        settings = {"batch_size": self.batch, "steps": steps, "device_pool": '["cpu"]' if self.rehearsal else "[0]"}
        with tempfile.TemporaryDirectory(dir=self.folder) as results:
            command = [os.environ["DDP_EXP"], "run", self.folder / "bench.toml", "--results", results, "--run-id", "r"]
            for key, value in settings.items():
                command += ["--set", f"{key}={value}"]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            said, ended = [], 0
            for line in process.stderr:
                ended = time.time() if " done | " in line else ended
                said.append(line)
            if process.wait() != 0:
                if "out of memory" in "".join(said):
                    raise DoesNotFit
                sys.exit("gpu-bench: ddp-exp failed:\n" + "".join(said))
            lines = (pathlib.Path(results) / "bench/r/metrics.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == "step"], ended

    def measure(self, steps):
        """Returns the seconds of a step."""
        seconds = [event["seconds"] for event in self.run(LOSSES + steps)[0]]
        return (seconds[-1] - seconds[LOSSES - 1]) / steps

    def close(self):
        pass


class Peer:
    """PyTorch: one process for all rounds, because it compiles for long."""

    def __init__(self, case, batch, folder, rehearsal, how):
        self.title, self.memory = TITLES[how], Memory(rehearsal)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        environment = environment_of_python(rehearsal) | {
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0", "WORLD_SIZE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}  # fmt: skip
        words = [os.environ["DDP_PYTHON"], HERE / "peer.py", "train", case.words(how=how, batch=batch), folder]
        with self.memory:
            begun = time.time()
            self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                told = self.answer()
            except BaseException:
                self.close()
                raise
        self.losses, self.seconds, self.flops = told["losses"], told["seconds"], told.get("flops")
        self.first = told["first"] - begun

    def answer(self):
        line = self.process.stdout.readline()
        told = json.loads(line) if line else sys.exit(f"gpu-bench: {self.title} failed")
        if not told["fits"]:
            raise DoesNotFit
        return told

    def measure(self, steps):
        """Returns the seconds of a step."""
        print(steps, file=self.process.stdin, flush=True)
        return self.answer()["took"] / steps

    def close(self):
        self.process.communicate()


def environment_of_python(rehearsal):
    environment = os.environ | {"PYTHONPATH": os.environ.get("DDP_PYTHONPATH", "")}
    return environment | ({"DDP_REHEARSAL": "1"} if rehearsal else {})


def call_peer(rehearsal, *words):
    return subprocess.run([os.environ["DDP_PYTHON"], HERE / "peer.py", *words], env=environment_of_python(rehearsal), check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout  # fmt: skip


def rounds_of(case, batch, folder, rehearsal):
    """Returns the sides, and the seconds of a step of each in each round."""
    with contextlib.ExitStack() as stack:
        sides = [DdpExp(case, batch, folder, rehearsal)]
        for how in case.hows:
            sides.append(Peer(case, batch, folder, rehearsal, how))
            stack.callback(sides[-1].close)
        steps = min(max(int((0.1 if rehearsal else 1.5) / sides[1].seconds), 20), 20_000)
        return sides, [[side.measure(steps) for side in sides] for _ in range(1 if rehearsal else ROUNDS)]


def largest_that_fits(case, folder, rehearsal):
    for batch in case.batches:
        with contextlib.suppress(DoesNotFit):
            return batch, *rounds_of(case, batch, folder, rehearsal)
    sys.exit(f"gpu-bench: no batch of {case.name} fits into the memory of the card")


def measure(case, peak, rehearsal):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-gpu-") as name:
        folder = pathlib.Path(name)
        call_peer(rehearsal, "data", case.words(), folder)
        batch, sides, rounds = largest_that_fits(case, folder, rehearsal)
    medians, eager = [statistics.median(of_side) for of_side in zip(*rounds, strict=True)], sides[1]
    unit = "tokens" if case.block else "samples"
    print(f"\n{case.name}, batch {batch}, {case.precision}{', channels_last' if case.channels_last else ''}")
    print(f"  {'':36}{unit + '/s':>12}{'ddp-exp is':>12}{'MiB':>9}{'first step':>12}{'of peak':>9}")
    for side, seconds in zip(sides, medians, strict=True):
        ratio = "" if side is sides[0] else f"{seconds / medians[0]:.2f}x"
        print(f"  {side.title:36}{batch * (case.block or 1) / seconds:>12,.0f}{ratio:>12}{side.memory.most:>9,.0f}"
              f"{side.first:>10.1f} s{eager.flops / seconds / peak:>9.1%}")  # fmt: skip
    for side in sides[1:]:
        differences = [abs(a - b) for a, b in zip(sides[0].losses, side.losses, strict=True)]
        print(f"  losses of {side.title}: {differences.count(0)} of the first {LOSSES} equal, largest difference "
              f"{max(differences):.2g} at losses {side.losses[0]:.4f} to {side.losses[-1]:.4f}")  # fmt: skip
    sys.stdout.flush()


def name_of_card(rehearsal):
    if rehearsal:
        return "rehearsed on the CPU"
    return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-bench")
    parser.add_argument("--rehearse", action="store_true", help="small sizes on the CPU")
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose name contains it")
    asked = parser.parse_args()
    chosen = [case for case in cases(asked.rehearse) if asked.only in case.name]
    if not chosen:
        parser.error(f"no case has {asked.only!r} in its name: {', '.join(case.name for case in cases(asked.rehearse))}")
    peak = float(call_peer(asked.rehearse, "peak"))
    print(f"gpu-bench, {name_of_card(asked.rehearse)}: a bf16 matrix product has {peak / 1e12:.1f} TFLOP/s")
    begun = time.monotonic()
    for case in chosen:
        measure(case, peak, asked.rehearse)
    print(f"\n{time.monotonic() - begun:.0f} s")


main()
