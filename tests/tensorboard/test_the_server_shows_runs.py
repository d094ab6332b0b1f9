"""`tensorboard --logdir results` shows every run under its name and id, each step once, and one table of all
hyper-parameters: the real server with each of its two readers."""

import json
import os
import re
import subprocess
import sys
import urllib.request

from training import PATIENCE, Folder, expected, float32, kill, sets, steps, until

folder = Folder()
folder.complete("run", "small.toml", "--run-id", "first")
folder.complete("run", "small.toml", "--run-id", "other", *sets(optimizer__lr=0.01, loader__shuffle="false"))
process = folder.start("run", "small.toml", "--run-id", "killed", *sets(epochs=6000, checkpoint__save_every_steps=7))
until(lambda: steps(folder.run("killed")) > 50, "50 steps", process)
kill(process)


class Server:
    def __init__(self, reader):
        # Chooses a free port; a proxy of the environment must not interfere.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", folder.path / "results", "--host", "127.0.0.1", "--port",
             "0", "--reload_interval", "1", "--samples_per_plugin", "scalars=1000000", f"--load_fast={reader}"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
            env=os.environ | {"no_proxy": "*"})  # fmt: skip
        self._read = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", said)):
            line = self._process.stderr.readline()
            assert line, said
            said += line
        self._at = found[0]

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._at + path, data, {"Content-Type": "application/json"})
        return json.loads(self._read.open(request, timeout=PATIENCE).read())

    def losses(self, run):
        """(step, value) of each point; nothing while the run is not read yet."""
        if "train/loss" not in self.ask("data/plugin/scalars/tags").get(run, {}):
            return []
        return [(step, value) for _, step, value in self.ask(f"data/plugin/scalars/scalars?tag=train/loss&run={run}")]

    def close(self):
        kill(self._process)


def same(losses, run):
    wanted = expected(folder.run(run))["train/loss"]
    return [(step, float32(value)) for step, value in losses] == wanted


def killed_run_goes_on(server):
    """Runs this while the server watches."""
    until(lambda: server.losses("small/killed/tensorboard"), "the killed run is read")
    done = steps(folder.run("killed"))
    folder.complete("resume", "small/killed", *sets(epochs=done // 6 + 3))
    until(lambda: same(server.losses("small/killed/tensorboard"), "killed"), "each step is shown once")


for reader in ("false", "true"):
    server = Server(reader)
    try:
        until(lambda: same(server.losses("small/first/tensorboard"), "first"), "the first run is shown")
        until(lambda: same(server.losses("small/other/tensorboard"), "other"), "the other run is shown")
        killed_run_goes_on(server)
        runs = server.ask("data/runs")
        print(reader, runs)
        table = server.ask("data/plugin/hparams/experiment", {})
        names = {info["name"] for info in table["hparamInfos"]}
        assert {"optimizer.lr", "model.dropout", "batch_size", "loader.shuffle"} <= names, names
        metrics = {info["name"]["tag"] for info in table["metricInfos"]}
        assert {"val/loss", "val/accuracy", "epoch/train_loss"} <= metrics, metrics
    finally:
        server.close()
