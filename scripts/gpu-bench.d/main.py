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
LIMIT = 360  # seconds after which no further case or round begins
PATIENCE = 200  # seconds in which a side answers
LOSSES = 20  # as in peer.py
BEGUN = time.monotonic()
COMPILED_BEFORE = pathlib.Path(tempfile.gettempdir()) / "ddp-exp-gpu-bench-inductor"
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
        Case("gpt2", gpt, adamw, [64, 32, 16, 8], 256, block=1024, precision="bf16"),
        Case("resnet50", {"name": "resnet50", "num_classes": 1000}, momentum, [128], 2560, input=(3, 224, 224), classes=1000,
             precision="bf16", channels_last=True),
        Case("resnet18", {"name": "resnet18", "num_classes": 10, "small_images": True}, momentum, [128], 2560,
             input=(3, 32, 32), classes=10),
        Case("mlp-784", mlp(784, [256, 256], 10), sgd, [64], 6400, "mse", (784,), 10),
        Case("mlp-2048", mlp(2048, [2048], 5), sgd, [20], 2000, "mse", (2048,), 5),
        Case("toy", {"name": "toy"}, sgd, [20], 2000, "mse", (10,), 5),
    ]  # fmt: skip
    if rehearsal:
        # torch.compile takes two minutes for a case on CPUs.
        listed = [dataclasses.replace(case, hows=(EAGER, OVERHEAD) if case.name == "toy" else (EAGER,)) for case in listed]
        small = gpt | {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 32, "vocab_size": 100}
        listed[0] = dataclasses.replace(listed[0], model=small, batches=[8, 4], block=32)
        listed[1] = dataclasses.replace(listed[1], batches=[2], rows=8, input=(3, 64, 64))
        listed[2] = dataclasses.replace(listed[2], batches=[4], rows=16)
    return listed


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


class SideFailed(Exception):
    """Says why a side has no figures. The other sides have theirs."""


class DoesNotFit(SideFailed):
    """The case takes more than the card's memory."""

    def __init__(self):
        super().__init__("does not fit into the memory of the card")


def told_of_card(what):
    return subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits", "--id=0"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()  # fmt: skip


class Memory:
    """The most memory of the card that was in use while it was watched, beyond what was before, in MiB."""

    def __init__(self, rehearsal):
        self.rehearsal, self.most = rehearsal, 0
        self.before = self.used()

    def used(self):
        if self.rehearsal:
            return 0
        return float(told_of_card("memory.used"))

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


class Side:
    """A program that trains the case. `rounds`: the seconds of a step in each round; `failure` ends its figures."""

    def __init__(self, title, case, batch, folder, rehearsal):
        self.title, self.case, self.batch, self.folder, self.rehearsal = title, case, batch, folder, rehearsal
        self.memory, self.rounds, self.failure = Memory(rehearsal), [], None
        with self.memory:
            self.try_to(self.begin, time.time())

    def try_to(self, act, *words):
        try:
            if not self.failure:
                act(*words)
        except SideFailed as why:
            self.failure = why


class DdpExp(Side):
    """ddp-exp: each round is a run of its own."""

    def begin(self, begun):
        (self.folder / "bench.toml").write_text(self.case.experiment(self.folder))
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
            with patience(process):
                for line in process.stderr:
                    ended = time.time() if " done | " in line else ended
                    said.append(line)
            if process.wait() != 0:
                raise DoesNotFit if "out of memory" in "".join(said) else SideFailed("failed: " + "".join(said[-3:]))
            lines = (pathlib.Path(results) / "bench/r/metrics.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == "step"], ended

    def measure(self, steps):
        seconds = [event["seconds"] for event in self.run(LOSSES + steps)[0]]
        self.rounds.append((seconds[-1] - seconds[LOSSES - 1]) / steps)


class Peer(Side):
    """PyTorch: one process for all rounds, because it compiles for long."""

    def __init__(self, how, *about):
        self.how = how
        super().__init__(TITLES[how], *about)

    def begin(self, begun):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        environment = environment_of_python(self.rehearsal) | {
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0", "WORLD_SIZE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(COMPILED_BEFORE)}  # fmt: skip
        words = [os.environ["DDP_PYTHON"], HERE / "peer.py", "train", self.case.words(how=self.how, batch=self.batch), self.folder]
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = self.answer()
        self.losses, self.seconds, self.flops = told["losses"], told["seconds"], told.get("flops")
        self.first = told["first"] - begun

    def answer(self):
        with patience(self.process):
            line = self.process.stdout.readline()
        if not line:
            raise SideFailed(f"failed, or did not answer within {PATIENCE} s")
        told = json.loads(line)
        if not told["fits"]:
            raise DoesNotFit
        return told

    def measure(self, steps):
        with contextlib.suppress(BrokenPipeError):  # the answer tells
            print(steps, file=self.process.stdin, flush=True)
        self.rounds.append(self.answer()["took"] / steps)

    def close(self):
        with contextlib.suppress(BrokenPipeError), patience(self.process):
            self.process.communicate()


@contextlib.contextmanager
def patience(process):
    """Ends a process that takes too long."""
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def environment_of_python(rehearsal):
    environment = os.environ | {"PYTHONPATH": os.environ.get("DDP_PYTHONPATH", "")}
    return environment | ({"DDP_REHEARSAL": "1"} if rehearsal else {})


def call_peer(rehearsal, *words):
    return subprocess.run([os.environ["DDP_PYTHON"], HERE / "peer.py", *words], env=environment_of_python(rehearsal), check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout  # fmt: skip


def sides_of(case, *about):
    """Measures the sides. Raises DoesNotFit if ddp-exp or eager DDP do not fit into memory."""
    rehearsal, sides = about[-1], [DdpExp("ddp-exp", case, *about)]
    with contextlib.ExitStack() as stack:

        def begin(how):
            sides.append(Peer(how, case, *about))
            stack.callback(sides[-1].close)

        def measure(some):
            for number in range(1 if rehearsal else ROUNDS):
                for side in some if number == 0 or time.monotonic() - BEGUN < LIMIT else []:
                    side.try_to(side.measure, steps)

        begin(EAGER)
        for side in sides:
            if isinstance(side.failure, DoesNotFit):
                raise side.failure
        steps = 20 if sides[1].failure else min(max(int((0.1 if rehearsal else 1.5) / sides[1].seconds), 20), 20_000)
        if COMPILED in case.hows:
            begin(COMPILED)
        measure(sides)
        if OVERHEAD in case.hows:  # by itself: its graphs keep their memory
            begin(OVERHEAD)
            measure(sides[-1:])
    return sides


def measure(case, peak, rehearsal):
    """Prints the table of a case. Returns whether all sides have figures."""
    with tempfile.TemporaryDirectory(prefix="ddp-exp-gpu-") as name:
        folder = pathlib.Path(name)
        call_peer(rehearsal, "data", case.words(), folder)
        for batch in case.batches:
            with contextlib.suppress(DoesNotFit):
                sides = sides_of(case, batch, folder, rehearsal)
                break
        else:
            raise DoesNotFit
    unit = "tokens" if case.block else "samples"
    print(f"\n{case.name}, batch {batch}, {case.precision}{', channels_last' if case.channels_last else ''}")
    print(f"  {'':36}{unit + '/s':>12}{'ddp-exp is':>12}{'MiB':>9}{'first step':>12}{'of peak':>9}")
    own, eager = sides[:2]
    for side in sides:
        if side.failure:
            print(f"  {side.title:36}{side.failure}")
            continue
        seconds = statistics.median(side.rounds)
        ratio = "" if side is own or own.failure else f"{seconds / statistics.median(own.rounds):.2f}x"
        share = "" if eager.failure else f"{eager.flops / seconds / peak:.1%}"
        print(f"  {side.title:36}{batch * (case.block or 1) / seconds:>12,.0f}{ratio:>12}{side.memory.most:>9,.0f}"
              f"{side.first:>10.1f} s{share:>9}")  # fmt: skip
    whole = [side for side in sides if not side.failure]
    for side in whole[1:] if whole[:1] == [own] else []:
        differences = [abs(a - b) for a, b in zip(own.losses, side.losses, strict=True)]
        print(f"  losses of {side.title}: {differences.count(0)} of the first {LOSSES} equal, largest difference "
              f"{max(differences):.2g} at losses {side.losses[0]:.4f} to {side.losses[-1]:.4f}")  # fmt: skip
    return whole == sides


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-bench")
    parser.add_argument("--rehearse", action="store_true", help="small sizes on the CPU")
    parser.add_argument("--only", action="append", metavar="WORD", help="cases whose name contains it; repeatable")
    asked = parser.parse_args()
    chosen = [case for case in cases(asked.rehearse) if any(word in case.name for word in asked.only or [""])]
    if not chosen:
        parser.error(f"no case has {asked.only!r} in its name: {', '.join(case.name for case in cases(asked.rehearse))}")
    peak = float(call_peer(asked.rehearse, "peak"))
    card = "rehearsed on the CPU" if asked.rehearse else told_of_card("name,driver_version")
    print(f"gpu-bench, {card}: a bf16 matrix product has {peak / 1e12:.1f} TFLOP/s")
    if COMPILED_BEFORE.exists():
        print(f"torch.compile begins with the results of an earlier call, in {COMPILED_BEFORE}")
    sys.stdout.flush()
    whole = True
    for case in chosen:
        try:
            if time.monotonic() - BEGUN > LIMIT and not asked.rehearse:
                raise SideFailed(f"no time left: --only {case.name}")
            whole = measure(case, peak, asked.rehearse) and whole
        except (SideFailed, subprocess.CalledProcessError, json.JSONDecodeError) as why:
            print(f"\n{case.name}: {why}")
            whole = False
        sys.stdout.flush()
    print(f"\n{time.monotonic() - BEGUN:.0f} s")
    return 0 if whole else 1


sys.exit(main())
