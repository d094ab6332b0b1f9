"""The promises of docs/promises.md about kills, stops and failing ranks."""

import os
import random
import resource
import signal
import time

from machine import LONG, Run, children, gone, on_gpus, same, until, write_npy

TOKENS = """
dataset    = { name = "npy", inputs = "tokens.npy", targets = "next.npy" }
loss       = "cross_entropy"
optimizer  = { name = "adamw", lr = 0.01 }
batch_size = 8
epochs     = 1
threads    = 1
loader     = { shuffle = false }
model      = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 8, block_size = 8, vocab_size = 11 }
"""

WIDE = """
dataset    = { name = "random_pairs", size = 1000000, features = 16, targets = 1 }
loss       = "mse"
optimizer  = { name = "sgd", lr = 0.01 }
batch_size = 1000000
steps      = 2
threads    = 1
model      = { name = "mlp", in_features = 16, hidden = [131072], out_features = 1 }
"""


def weights(machine):
    """A hidden layer so wide that a step spends much of its time in the all-reduce of the gradients."""
    return "[256, 256]" if machine.rehearsal else "[4096, 4096]"


def long_run(machine, folder, name, backend, steps):
    return Run(machine, folder, name, device_pool=machine.all(), backend=backend, steps=steps,
               model__hidden=weights(machine), checkpoint__save_every_steps=20)  # fmt: skip


def kills_of_ranks(machine, folder):
    """a rank that is killed with kill -9, in and out of collectives, is named at once, leaves no process, and the run
    resumes to the bits of an uninterrupted run, over each backend"""
    kills, steps = (1, 400) if machine.rehearsal else (10, 1000)
    for backend in machine.backends:
        never = long_run(machine, folder, f"never_{backend}", backend, steps)
        never.complete()
        run = long_run(machine, folder, f"killed_{backend}", backend, steps)
        longest = 0
        for _ in range(kills):
            command, processes = run.trains()
            time.sleep(random.random() * 0.02)
            rank = random.choice(sorted(processes))
            os.kill(processes[rank], signal.SIGKILL)
            died = time.monotonic()
            assert command.finish(60) == 1, command
            longest = max(longest, time.monotonic() - died)
            assert f"rank {rank}" in command.said() and "killed by SIGKILL" in command.said(), command
            gone(processes.values())
        run.complete()
        same(run, never.left())
        yield f"{backend}: {kills} kills, the command ended {longest * 1000:.0f} ms later at most"


def kill_inside_comm(machine, folder):
    """a rank of comm that is killed with kill -9 inside an all-reduce ends the command with its name"""
    for backend in machine.backends:
        command = machine.command("comm", "--devices", machine.gpus, "--backend", backend, "--sizes", "16MiB",
                                  "--iterations", "100000", folder=folder)  # fmt: skip
        until(lambda: len(children(command.pid)) >= machine.gpus or command.ended(), "it has ranks", LONG)
        time.sleep(2 if machine.rehearsal else 15)  # the ranks meet and begin
        processes = children(command.pid)
        assert not command.ended() and processes, command
        os.kill(processes[-1], signal.SIGKILL)
        assert command.finish(60) == 1 and "killed by SIGKILL" in command.said(), command
        gone(processes)
        yield f"{backend}: {command.said().splitlines()[0]}"


def kill_of_parent(machine, folder):
    """a killed parent takes its ranks with it, and the run resumes to the bits of an uninterrupted run"""
    never = long_run(machine, folder, "never", machine.fastest, 300)
    never.complete()
    run = long_run(machine, folder, "killed", machine.fastest, 300)
    command, processes = run.trains()
    command.kill()
    command.finish(LONG)
    gone(processes.values())
    run.complete()
    same(run, never.left())


def stops(machine, folder):
    """SIGTERM saves after the step, exits with 143, and the run resumes to the bits of an uninterrupted run"""
    for backend in machine.backends:
        never = long_run(machine, folder, f"never_{backend}", backend, 300)
        never.complete()
        run = long_run(machine, folder, f"stopped_{backend}", backend, 300)
        command, processes = run.trains()
        command.kill(signal.SIGTERM)
        assert command.finish(LONG) == 143, command
        gone(processes.values())
        assert run.saved_steps()[-1] == run.last_step() < 300, (run.saved_steps(), run.last_step())
        stopped = run.last_step()
        run.complete()
        same(run, never.left(), but=("files",))  # the checkpoint of the stop stays
        yield f"{backend}: stopped and saved after step {stopped}"


def restarts(machine, folder):
    """with --max-restarts a killed rank is started again, and the command ends by itself with the same bits"""
    never = long_run(machine, folder, "never", machine.fastest, 300)
    never.complete()
    run = long_run(machine, folder, "restarted", machine.fastest, 300)
    command, processes = run.trains("--max-restarts", 3)
    os.kill(processes[0], signal.SIGKILL)
    assert command.finish(LONG) == 0, command
    assert run.summary()["restarts"] == 1, run.summary()
    same(run, never.left())


def limit_memory():
    """In place of a GPU's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))


def too_little_memory(machine, folder):
    """a model that does not fit into memory fails with a plain error that names the rank and memory, hangs nothing, and
    trains with a smaller batch on the same device afterwards"""
    run = Run(machine, folder, "wide", experiment=WIDE)
    command = run.start(preexec=limit_memory if machine.rehearsal else None)
    assert command.finish(LONG) == 1, command
    text = "allocate memory" if machine.rehearsal else "out of memory"
    assert text in command.said() and "rank 0" in command.said(), command
    assert "terminate called" not in command.said(), command
    assert run.summary()["status"] == "failed", run.summary()
    Run(machine, folder, "narrow", experiment=WIDE, batch_size=8).complete()
    return [command.said().splitlines()[0]]


def write_tokens(path, rows):
    write_npy(path, "i8", (len(rows), len(rows[0])), [value for row in rows for value in row])


def assertion_in_a_kernel(machine, folder):
    """a rank that fails in a kernel (a token that the embedding does not have: an assertion on the device) is named,
    saves nothing after the fault, and the run resumes to its end with mended data"""
    rows = [[number % 11] * 8 for number in range(256)]
    write_tokens(folder / "next.npy", rows)
    broken = [list(row) for row in rows]
    broken[100][3] = 77  # in step 13
    write_tokens(folder / "tokens.npy", broken)
    run = Run(machine, folder, "tokens", experiment=TOKENS, checkpoint__save_every_steps=4)
    command = run.start()
    assert command.finish(LONG) == 1, command
    text = "has no row for some of them" if machine.rehearsal else "device-side assert"
    assert text in command.said() and "rank 0" in command.said(), command
    assert "terminate called" not in command.said(), command
    assert run.saved_steps() and run.saved_steps()[-1] <= 12, run.saved_steps()
    assert run.summary()["status"] == "failed", run.summary()
    write_tokens(folder / "tokens.npy", rows)
    run.complete("--data-changed")
    assert run.summary()["steps"] == 32, run.summary()
    return [command.said().splitlines()[0]]


@on_gpus
def memory_of_the_dead(machine, folder):
    """the memory of killed ranks is free at once: a run that takes most of the GPU follows a killed one"""
    wide = WIDE.replace("1000000", "50000")  # 26 GB of activations
    run = Run(machine, folder, "first", experiment=wide, steps=200)
    command, processes = run.trains()
    command.kill()
    command.finish(LONG)
    gone(processes.values())
    Run(machine, folder, "second", experiment=wide, steps=2).complete()


CHECKS = [kills_of_ranks, kill_inside_comm, kill_of_parent, stops, restarts, too_little_memory, assertion_in_a_kernel,
          memory_of_the_dead]  # fmt: skip
