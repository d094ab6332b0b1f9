"""Features that are built on steps: logical ranks, lost ranks, audits, recipes, streams, measurements and predictions."""

import csv
import json
import os
import random
import signal
import socket

from faults import TOKENS, write_tokens
from machine import LONG, Run, children, gone, same, sets, until
from training import RECIPE, write_images

TABLE = """
dataset    = { name = "csv", path = "rows.csv", target = "y" }
loss       = "cross_entropy"
optimizer  = { name = "adamw", lr = 0.01 }
batch_size = 16
epochs     = 3
threads    = 1
model      = { name = "mlp", in_features = 3, hidden = [32], out_features = 3 }
validation = { split = 0.2 }
"""


def write_rows(folder, count):
    draw = random.Random(3)
    with open(folder / "rows.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "c", "y"])
        for _ in range(count):
            kind = draw.randrange(3)
            rows.writerow([draw.gauss(kind, 0.5), draw.gauss(-kind, 0.5), draw.gauss(0, 1), "xyz"[kind]])


def losses(run):
    return [event["loss"] for event in run.events("step")]


def logical_ranks(machine, folder):
    """four logical ranks on one device resume inside an epoch with the same bits, audit finds them again, and their losses
    are those of four on a CPU up to rounding"""
    settings = {"logical_ranks": 4, "checkpoint__save_every_steps": 10, "model__dropout": 0}
    never = Run(machine, folder, "never", steps=40, **settings)
    never.complete()
    run = Run(machine, folder, "stopped", steps=17, **settings)
    run.complete()
    run.complete(steps=40)
    same(run, never.left(), but=("files",))
    machine.call("audit", "never/run", folder=folder)
    cpu = Run(machine, folder, "cpu", steps=40, **settings | {"device_pool": '["cpu"]'})
    cpu.complete()
    differences = [abs(a - b) / b for a, b in zip(losses(never), losses(cpu), strict=True)]
    assert max(differences) < 1e-4, max(differences)
    yield f"40 losses differ by at most {max(differences):.2g}"


def two_nodes(run):
    """Starts the run as two nodes of one rank each, which share the device."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = ["--elastic", "--nnodes", 2, "--nproc-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port, "--node-rank"]
    return [run.start(*words, node) for node in range(2)]


def lost_node(machine, folder):
    """with --elastic two nodes share the device over Gloo, and the run goes on without the one that is killed, with the
    bits of a run that lost nothing"""
    settings = {"logical_ranks": 2, "backend": "gloo", "model__hidden": "[256]", "checkpoint__save_every_steps": 20}
    never = Run(machine, folder, "never", steps=400, **settings)
    never.complete()
    run = Run(machine, folder, "elastic", steps=400, **settings)
    nodes = two_nodes(run)
    until(lambda: run.last_step() > 0 or nodes[0].ended(), "it trains", LONG)
    lost = children(nodes[1].pid)
    os.kill(lost[-1], signal.SIGKILL)
    assert nodes[0].finish(LONG) == 0, nodes[0]
    nodes[1].finish(LONG)
    gone(lost)
    assert [event["ranks"] for event in run.events("world")] == [1], run.events("world")
    same(run, never.left(), but=("files",))
    yield run.events("world")[0]["reason"]


def failed_kernel_of_a_node(machine, folder):
    """with --elastic a kernel that fails on one of two nodes that share the device ends both, and names its rank"""
    rows = [[number % 11] * 8 for number in range(256)]
    write_tokens(folder / "next.npy", rows)
    rows[101][3] = 77  # of rank 1, in step 7
    write_tokens(folder / "tokens.npy", rows)
    run = Run(machine, folder, "failed", experiment=TOKENS, logical_ranks=2, backend="gloo", checkpoint__save_every_steps=2)
    text = "has no row for some of them" if machine.rehearsal else "device-side assert"
    nodes = two_nodes(run)
    codes = [node.finish(LONG) for node in nodes]
    assert 0 not in codes, codes
    assert "rank 1" in nodes[0].said() + nodes[1].said() and text in nodes[1].said(), nodes
    assert run.saved_steps() and run.saved_steps()[-1] <= 6, run.saved_steps()


def recipes(machine, folder):
    """a recipe (augmented and mixed images, groups, clipping, averaged weights, a plateau schedule) in fp32, bf16 and fp16
    resumes with the same bits, as channels_last too"""
    write_images(folder)
    cases = (("fp32", "false"), ("bf16", "true"), ("fp16", "false"), ("fp16", "true"))
    for number, (precision, layout) in enumerate(cases):
        settings = {"experiment": RECIPE, "precision": f'"{precision}"', "channels_last": layout, "epochs": 20, "stop__patience": 0,
                    "checkpoint__save_every_steps": 25}  # fmt: skip
        never = Run(machine, folder, f"never{number}", **settings)
        never.complete()
        run = Run(machine, folder, f"killed{number}", **settings)
        command, processes = run.trains()
        os.kill(processes[0], signal.SIGKILL)
        assert command.finish(LONG) == 1, command
        gone(processes.values())
        run.complete()
        same(run, never.left())
        yield f"{precision}, channels_last = {layout}: {run.summary()['steps']} steps"


def streams(machine, folder):
    """a stream, whose batches go through pinned memory, trains the bits of the table in memory"""
    write_rows(folder, 3000)
    settings = {"experiment": TABLE, "loader__shuffle": "false", "loader__workers": 2}
    runs = [Run(machine, folder, name, loader__stream=stream, **settings) for name, stream in (("memory", "false"), ("stream", "true"))]
    for run in runs:
        run.complete()
    assert losses(runs[0]) == losses(runs[1]), "other losses"
    assert runs[0].left()["model"] == runs[1].left()["model"], "other bits"


def measured_and_used(machine, folder):
    """eval measures what training recorded, and predict gives on the device what it gives on a CPU, up to rounding"""
    write_rows(folder, 600)
    run = Run(machine, folder, "table", experiment=TABLE)
    run.complete()
    measured = json.loads(machine.call("eval", "table/run", "--json", folder=folder))["metrics"]
    recorded = run.summary()["best"]["values"]
    assert measured["val_loss"] == recorded["val_loss"], (measured, recorded)
    answers = []
    for pool in (machine.pool(), '["cpu"]'):
        machine.call("predict", "table/run", "rows.csv", "-o", "answers.csv", *sets(device_pool=pool), folder=folder)
        with open(folder / "answers.csv", newline="") as file:
            answers.append(list(csv.DictReader(file)))
    differences = [abs(float(a[name]) - float(b[name])) for a, b in zip(*answers, strict=True)
                   for name in a if name.startswith("probability")]  # fmt: skip
    assert differences and max(differences) < 1e-4, max(differences, default=None)
    yield f"val_loss {measured['val_loss']}, predictions differ by at most {max(differences):.2g}"


CHECKS = [logical_ranks, lost_node, failed_kernel_of_a_node, recipes, streams, measured_and_used]
