#!/usr/bin/env python3
"""Replays a run of ddp-exp, or the trials of a sweep, into a folder of W&B. Nothing is sent: `wandb sync` does that.

    to_wandb.py results/churn/latest
    to_wandb.py results/churn/latest --project churn --dir /tmp

config      the settings of config.toml, nested; below ddp_exp the name, run id, status, git commit and devices
history     a row for each step of metrics.jsonl with its time: the run's start and the seconds of training since then.
            A value that is not finite is NaN
summary     the newest value of each metric; best.val_loss and so on are of the best validation
artifacts   config.toml and summary.json; with --checkpoints, the complete checkpoints

The trials of a sweep are a group. W&B's state is finished, failed or killed; of a run that still goes on it is
finished, with the status "running" in its config and tags. Each call writes the whole run under the same id, in the
place of the folder of an earlier call: `wandb sync` then replaces the run that it has sent before.

It needs ddp_folder.py beside it, and wandb 0.19 or newer.
"""

import argparse
import os
import pathlib
import shutil
import sys

import ddp_folder

try:
    import wandb
except ImportError as error:
    sys.exit(f"error: it needs wandb: pip install wandb ({error})")

EXIT_CODES = {"running": 0, "completed": 0, "failed": 1, "interrupted": 255}  # 255: W&B's state "killed"
TAG = 64  # characters


def rows(run):
    """(step, {metric: number}) of each step that has metrics, in order. _timestamp is W&B's name of the time."""
    last, row = 0, {}
    for _, event in run.events():
        values = ddp_folder.measured(event)
        if not values:
            continue
        # The test is of the best checkpoint, and W&B takes no row of an earlier step.
        step = max(event["step"], last)
        if step > last and row:
            yield last, row
            row = {}
        last, row = step, row | values | {"_timestamp": run.started + event["seconds"]}
    if row:
        yield last, row


def add(run, project, folder, with_checkpoints):
    """Writes a copy of a run, and returns its folder, which is whole after wandb.teardown()."""
    # The same id without `resume`: W&B would take a resumed part for an addition, and have each row twice.
    for earlier in (folder / "wandb").glob(f"offline-run-*-{run.id}"):
        shutil.rmtree(earlier)
    tags = run.tags()
    quiet = wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True, x_disable_meta=True,
                           x_save_requirements=False)  # fmt: skip
    copy = wandb.init(
        mode="offline", project=project, dir=folder, id=run.id, name=run.name, group=run.sweep or None, settings=quiet,
        config=run.settings | {"ddp_exp": tags}, tags=[f"{name}: {value}"[:TAG] for name, value in tags.items()],
    )  # fmt: skip
    written = pathlib.Path(copy.settings.sync_dir)
    os.environ["WANDB_DATA_DIR"] = str(written)  # copies of artifacts lie in the same folder
    for step, row in rows(run):
        copy.log(row, step=step)
    step, best = run.best()
    if best:
        copy.summary["best"] = best | {"step": step}
    files = wandb.Artifact(f"run-{run.id}", type="run")
    for file in (run.config_file, run.summary_file):
        files.add_file(file, skip_cache=True)
    copy.log_artifact(files)
    for checkpoint in run.checkpoints() if with_checkpoints else ():
        weights = wandb.Artifact(f"checkpoint-{run.id}", type="model", metadata={"step": checkpoint["step"]})
        weights.add_dir(str(checkpoint["path"]), skip_cache=True)
        copy.log_artifact(weights, aliases=[checkpoint["path"].name])
    copy.finish(exit_code=EXIT_CODES[run.status])
    return written


def main():
    parser = argparse.ArgumentParser(description="Replays a run of ddp-exp, or the trials of a sweep, for W&B.")
    parser.add_argument("run", type=pathlib.Path, help="folder of a run or a sweep; a name's folder: its newest run")
    parser.add_argument("--project", help="name of W&B's project (the run's name)")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("."), help="where the folder wandb lies (.)")
    parser.add_argument("--checkpoints", action="store_true", help="copy the complete checkpoints too")
    options = parser.parse_args()
    try:
        run = ddp_folder.Folder(ddp_folder.find(options.run))
        options.dir.mkdir(parents=True, exist_ok=True)
        project = options.project or run.summary["name"]
        runs = run.trials() if run.is_sweep else [run]
        written = [add(one, project, options.dir, options.checkpoints) for one in runs]
        wandb.teardown()
        for one, copy in zip(runs, written):
            print(f"{one.name}: wandb sync {copy}")
    except ddp_folder.Error as error:
        sys.exit(f"error: {error}")
    except (wandb.Error, OSError) as error:
        sys.exit(f"error: wandb: {str(error).strip().splitlines()[0]}")


if __name__ == "__main__":
    main()
