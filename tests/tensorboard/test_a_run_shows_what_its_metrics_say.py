"""TensorBoard's reader shows the numbers of a run's metrics.jsonl, its settings and its end."""

import json
import math
import time

from tensorboard.plugins.hparams import api_pb2
from training import Folder, accumulator, ended, expected, hyper_parameters, require_as_metrics, sets, shown

begun = time.time()
folder = Folder()
folder.complete("run", "small.toml", "--run-id", "run")
run = folder.run()
require_as_metrics(run)
assert expected(run).keys() == {"train/loss", "train/lr", "train/samples_per_second", "epoch", "epoch/train_loss",
                                "val/loss", "val/accuracy"}, expected(run).keys()  # fmt: skip
assert len(shown(accumulator(run))["train/loss"]) == 24  # 81 samples, 41 a rank: 6 steps an epoch

reader = accumulator(run)
reader.Reload()
times = [event.wall_time for event in reader.Scalars("train/loss")]
assert times == sorted(times) and begun <= times[0] and times[-1] <= time.time(), (begun, times)

seen = hyper_parameters(run)
assert seen.pop("threads") == 1 and seen.pop("epochs") == 4 and seen.pop("seed") == 42, seen
for name, value in {"model": "mlp", "model.hidden": "[8]", "model.dropout": 0.25, "dataset": "counting", "loss": "cross_entropy",
                    "optimizer": "sgd", "optimizer.lr": 0.001, "optimizer.nesterov": False, "scheduler": "linear",
                    "scheduler.warmup_steps": 3, "batch_size": 8, "validation.split": 0.2}.items():  # fmt: skip
    assert seen.get(name) == value, (name, seen)
assert not {"name", "log.every", "validation.every", "distributed.timeout"} & seen.keys(), seen
assert ended(run) == api_pb2.Status.Value("STATUS_SUCCESS"), ended(run)

# Fewer lines give fewer points, and turning them off gives none.
folder.complete("run", "small.toml", "--run-id", "third", *sets(log__every=3))
require_as_metrics(folder.run("third"))
assert [step for step, _ in shown(accumulator(folder.run("third")))["train/loss"]] == list(range(3, 25, 3))
folder.complete("run", "small.toml", "--run-id", "none", *sets(log__tensorboard="false"))
assert not (folder.run("none") / "tensorboard").exists()

# A loss that is not finite is shown as NaN; the run fails, which is shown too.
folder.complete("run", "small.toml", "--run-id", "nan", *sets(optimizer__lr=1e30), code=1)
losses = [value for _, value in shown(accumulator(folder.run("nan")))["train/loss"]]
assert losses and not math.isfinite(losses[-1]), losses
require_as_metrics(folder.run("nan"))
assert json.loads((folder.run("nan") / "summary.json").read_text())["status"] == "failed"
