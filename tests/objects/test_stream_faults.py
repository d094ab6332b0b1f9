"""A stream of objects from a faulty server, killed at random moments: no sample is lost or doubled, and no bit changes."""

import argparse
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import PROGRAM, Command, children, events_in, sets  # noqa: E402
from store import BUCKET, Server, use_cache  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--kills", type=int, default=8)
parser.add_argument("--faults", type=int, default=60)
parser.add_argument("--seed", type=int, default=5, help="of the faults and the moments of the kills")
asked = parser.parse_args()

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="stream faults "))
CACHE = 10 << 20
EXPERIMENT = """
dataset       = { name = "csv", path = "s3://%s/*.csv", target = "y", normalise = "standard" }
model         = { name = "mlp", hidden = [8] }
loss          = "cross_entropy"
optimizer     = { name = "adam", lr = 0.01 }
device_pool   = ["cpu", "cpu"]
logical_ranks = 2
batch_size    = 512
epochs        = 3
threads       = 1
loader        = { stream = true, window = 2, cache = "%d", retries = 40 }
checkpoint    = { save_every_steps = 20, keep_last = 2 }
"""


def table(rows, seed):
    draw = random.Random(seed)
    lines = []
    for _ in range(rows):
        a, b, c = (round(draw.gauss(0, 1), 4) for _ in range(3))
        lines.append(f"{a},{b},{c},{'yes' if a + b > c else 'no'}\n")
    return ("a,b,c,y\n" + "".join(lines) * 16).encode()


class Faults:
    """Spoils a share of the answers."""

    KINDS = ("429", "503", "reset", "cut", "short", "stale", "more")

    def __init__(self, seed):
        self.count, self._draw = 0, random.Random(seed)

    def __call__(self, environ, answer):
        if self._draw.random() < 0.5:
            return None
        self.count += 1
        kind = self._draw.choice(self.KINDS)
        if kind == "429":
            return "429 Too Many Requests", [("Retry-After", "0")], b""
        if kind == "503":
            return "503 Slow Down", [], b"<Error><Code>SlowDown</Code></Error>"
        status, headers, body = answer()
        sizes = {"short": len(body) // 2, "more": len(body) + 5}
        headers = [(n, str(sizes.get(kind, v)) if n.lower() == "content-length" else v) for n, v in headers]
        if kind == "stale" and environ.get("HTTP_RANGE") != "bytes=0-0":
            headers = [(n, '"other"' if n.lower() == "etag" else v) for n, v in headers]
        return status, headers, {"reset": b"", "cut": body[: len(body) // 2], "short": body[: len(body) // 2],
                                 "more": body + b"1,2,3"}.get(kind, body)  # fmt: skip


def main():
    server = Server()
    environment = server.environment | use_cache(FOLDER / "cache")
    for i in range(3):
        server.put(f"{i}.csv", table(20_000, i))
    (FOLDER / "s.toml").write_text(EXPERIMENT % (BUCKET, CACHE))

    def start(*words):
        return Command([PROGRAM, *words], FOLDER, environment)

    def left(run):
        """The bits of a run, and the losses of its epochs, which count each sample."""
        folder = FOLDER / "results/s" / run
        losses = {event["epoch"]: (event["train_loss"], event["samples"]) for event in events_in(folder / "metrics.jsonl", "epoch")}
        return (folder / "checkpoints/latest/model.safetensors").read_bytes(), losses

    never = start("run", "s.toml", "--run-id", "never")
    assert never.wait(600) == 0, never
    reference = left("never")
    faults, kills, runs = Faults(asked.seed), 0, 0
    draw = random.Random(1000 + asked.seed)
    while kills < asked.kills or faults.count < asked.faults:
        run = f"killed{runs}"
        runs += 1
        with server.spoilt(faults):
            for attempt in range(12):
                begun = (FOLDER / "results/s" / run / "config.toml").exists()
                words = ["resume", f"s/{run}", *sets(device_pool=draw.choice(['["cpu"]', '["cpu", "cpu"]']))]
                command = start(*(words if begun else ["run", "s.toml", "--run-id", f"{run}"]))
                if attempt < 11 and kills < asked.kills:
                    time.sleep(draw.uniform(0, never.seconds))
                    victims = [] if command.ended() else [command.pid, *children(command.pid)]
                    for victim in victims and [draw.choice(victims)]:
                        os.kill(victim, signal.SIGKILL)
                        kills += 1
                if command.wait(900) == 0:
                    break
        assert command.ended() and command.wait(1) == 0, command
        assert left(run) == reference, run
        pieces = sum(piece.stat().st_size for piece in (FOLDER / "cache/ddp-exp/objects/pieces").iterdir())
        assert pieces <= 1.05 * CACHE, pieces
    print(f"seed {asked.seed}: {kills} kills and {faults.count} faults in {runs} runs: the bits of a run without them")
    server.close()


main()
