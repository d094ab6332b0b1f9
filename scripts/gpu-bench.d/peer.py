"""The peers of scripts/gpu-bench.

peer.py data CASE FOLDER    writes the case's random data: x.npy and y.npy, or tokens.bin
peer.py peak                prints the floating-point operations a second of a bf16 matrix product
peer.py train CASE FOLDER   trains under DDP with one process, and takes commands

CASE is the JSON of main.py's Case. `train` prints a line of JSON when it is warm: "first", the time of the end of the first
step; "losses" of the first steps; "seconds" of a step; and in eager mode "flops" of a step. Then, for each number of
steps that comes on stdin, it prints "took", their seconds. A case that does not fit into memory prints {"fits": false}.
"""

import json
import os
import pathlib
import sys
import time

import numpy as np
import torch
import torch._dynamo
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.flop_counter import FlopCounterMode

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests" / "parity"))
from components import MODELS  # noqa: E402

REHEARSAL = "DDP_REHEARSAL" in os.environ
DEVICE = torch.device("cpu" if REHEARSAL else "cuda:0")
LOSSES = 20
WARM = 10  # steps before the clock
ON_CARD = 256 << 20  # bytes of rows that stay on the card; more are copied from pinned memory, batch by batch
OPTIMIZERS = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}


def settle():
    if not REHEARSAL:
        torch.cuda.synchronize()


def write_data(case, folder):
    draw = np.random.default_rng(0)
    if case["block"]:
        tokens = draw.integers(0, case["model"]["vocab_size"], case["rows"] * case["block"] + 1)
        tokens.astype(np.uint16).tofile(folder / "tokens.bin")
        return
    shape, classes = case["input"], case["classes"]
    np.save(folder / "x.npy", draw.standard_normal((case["rows"], *shape), dtype=np.float32))
    y = draw.integers(0, classes, case["rows"]) if case["loss"] == "cross_entropy" else draw.random((case["rows"], classes), np.float32)
    np.save(folder / "y.npy", y)


def all_rows(case, folder):
    """All inputs and all targets."""
    if not case["block"]:
        x, y = (torch.from_numpy(np.load(folder / name)) for name in ("x.npy", "y.npy"))
        x = x.to(memory_format=torch.channels_last) if case["channels_last"] else x
        if REHEARSAL or x.nbytes <= ON_CARD:
            return x.to(DEVICE), y.to(DEVICE)
        return x.pin_memory(), y.pin_memory()
    tokens = torch.from_numpy(np.fromfile(folder / "tokens.bin", np.uint16).astype(np.int64)).to(DEVICE)
    return tokens[:-1].view(-1, case["block"]), tokens[1:].view(-1, case["block"])


class WithLoss(torch.nn.Module):
    """torch.compile gets the loss too, as in nanoGPT."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, x, y):
        outputs = self.model(x)
        return F.mse_loss(outputs, y) if self.loss == "mse" else F.cross_entropy(outputs.flatten(0, -2), y.flatten())


class Training:
    def __init__(self, case, folder):
        self.case, self.done = case, 0
        torch.manual_seed(0)
        options = {key: value for key, value in case["model"].items() if key != "name"}
        model = MODELS[case["model"]["name"]](**options).to(DEVICE)
        if case["channels_last"]:
            model = model.to(memory_format=torch.channels_last)
        model = WithLoss(model, case["loss"])
        modes = {"compiled": "default", "reduce-overhead": "reduce-overhead"}
        if case["how"] != "eager":
            model = torch.compile(model, mode=modes[case["how"]])
        self.model = DDP(model, gradient_as_bucket_view=True)  # as ddp-exp
        options = {key: value for key, value in case["optimizer"].items() if key != "name"}
        self.optimizer = OPTIMIZERS[case["optimizer"]["name"]](self.model.parameters(), fused=True, **options)
        self.x, self.y = all_rows(case, folder)

    def step(self):
        batches = len(self.x) // self.case["batch"]
        begin = self.done % batches * self.case["batch"]
        x, y = (rows[begin : begin + self.case["batch"]].to(DEVICE, non_blocking=True) for rows in (self.x, self.y))
        self.done += 1
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=self.case["precision"] == "bf16"):
            loss = self.model(x, y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def steps(self, count):
        settle()
        begin = time.perf_counter()
        for _ in range(count):
            self.step()
        settle()
        return time.perf_counter() - begin


def tell(what):
    if not REHEARSAL:
        torch.cuda.empty_cache()  # the other sides need the memory
    print(json.dumps(what), flush=True)


def train(case, folder):
    dist.init_process_group("gloo" if REHEARSAL else "nccl", device_id=None if REHEARSAL else DEVICE)
    training = Training(case, folder)
    losses = [training.step().item()]
    told = {"fits": True, "first": time.time()}
    if case["how"] == "eager":
        with FlopCounterMode(display=False) as flops:
            losses.append(training.step().item())
        told["flops"] = flops.get_total_flops()
    losses += [training.step().item() for _ in range(LOSSES - len(losses))]
    training.steps(WARM)
    told |= {"losses": losses, "seconds": training.steps(WARM) / WARM}
    tell(told)
    for line in sys.stdin:
        training.steps(WARM)  # takes the memory again
        tell({"fits": True, "took": training.steps(int(line))})


def peak():
    size, times = (512, 3) if REHEARSAL else (8192, 10)
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
    for _ in range(3):
        a @ b
    settle()
    begin = time.perf_counter()
    for _ in range(times):
        a @ b
    settle()
    return 2 * size**3 * times / (time.perf_counter() - begin)


def main(what, *words):
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True  # as ddp-exp
    torch._dynamo.config.optimize_ddp = False  # one process has nothing to overlap: whole graphs are faster
    if what == "peak":
        print(peak())
    elif what == "data":
        write_data(json.loads(words[0]), pathlib.Path(words[1]))
    else:
        try:
            train(json.loads(words[0]), pathlib.Path(words[1]))
        except torch.OutOfMemoryError:
            print(json.dumps({"fits": False}), flush=True)
        # The destructor of DDP's Reducer can wait forever for a Gloo thread that wants the interpreter's lock.
        os._exit(0)


main(*sys.argv[1:])
