"""Results folders to report on: real runs, and a sweep of real runs."""

import json
import os
import subprocess

PROGRAM = os.environ["DDP_EXP"]

EXPERIMENT = """
model       = "linear"
dataset     = { name = "random_pairs", size = 256 }
loss        = "mse"
device_pool = ["cpu", "cpu"]
threads     = 1
batch_size  = 16
epochs      = 3
save_every  = 1
[optimizer]
name = "sgd"
lr   = 0.05
[validation]
split = 0.25
"""

# Texts that must have no effect anywhere.
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u2028'\"&lt;"


def ddp_exp(*arguments, folder, code=0):
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, f"{arguments} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def train(folder, name, run_id, *sets, results="results"):
    (folder / "experiment.toml").write_text(EXPERIMENT)
    settings = [argument for value in sets for argument in ("--set", value)]
    ddp_exp(
        "run", "experiment.toml", "--results", results, "--name", name, "--run-id", run_id, *settings, folder=folder
    )
    return folder / results / name / run_id


def report(folder, *arguments):
    """The path of the page, which the command prints."""
    return folder / ddp_exp("report", *arguments, folder=folder).stdout.strip()


def events(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def write_events(run, *lines, mode="w"):
    with open(run / "metrics.jsonl", mode) as metrics:
        metrics.writelines(json.dumps(line) + "\n" for line in lines)


def sweep(folder, rates=(0.05, 0.0001, 0.01, 0.001), stopped=2, error=None):
    """Four real runs as the trials of a sweep. One of them looks stopped, and a fifth one failed."""
    home = folder / "results" / "rates" / "one"
    home.mkdir(parents=True)
    trials = [trial_of(folder, home, number, rate, number == stopped) for number, rate in enumerate(rates)]
    trials.sort(key=lambda trial: trial["metric"])
    for place, trial in enumerate(trials, 1):
        trial["place"] = place
    trials.append(
        {
            "trial": len(rates),
            "place": None,
            "directory": f"trials/{len(rates):03}",
            "status": "failed",
            "metric": None,
            "epochs": 0,
            "seconds": 0.5,
            "error": error or "rank 1: killed by SIGKILL",
            "parameters": {"optimizer.lr": 1000.0, "dataset.size": 256},
        }
    )
    (home / "sweep.toml").write_text(
        EXPERIMENT + '[sweep]\nmethod = "grid"\nmetric = "val_loss"\n'
        f'[sweep.parameters]\n"optimizer.lr" = {[*rates, 1000.0]}\n"dataset.size" = [256]\n'
    )
    (home / "summary.json").write_text(
        json.dumps(
            {
                "version": 1,
                "kind": "sweep",
                "status": "completed",
                "name": "rates",
                "run_id": "one",
                "started": "2026-11-21T21:04:05Z",
                "ended": "2026-11-21T21:04:45Z",
                "seconds": 40.5,
                "method": "grid",
                "metric": "val_loss",
                "goal": "min",
                "parameters": ["optimizer.lr", "dataset.size"],
                "trials": len(trials),
                "completed": len(rates) - 1,
                "stopped": 1,
                "failed": 1,
                "waiting": 0,
                "best": trials[0]["trial"],
                "ranking": trials,
                "repeat": "ddp-exp run results/rates/one/trials/000/config.toml",
            }
        )
    )
    return home


def trial_of(folder, home, number, rate, stopped):
    run = train(folder, "trials", f"{number:03}", f"optimizer.lr={rate}", results=home.relative_to(folder))
    if stopped:
        write_events(run, *(event for event in events(run) if event["epoch"] == 0))
    measured = [event for event in events(run) if event["event"] == "epoch"]
    return {
        "trial": number,
        "directory": f"trials/{number:03}",
        "status": "stopped" if stopped else "completed",
        "metric": measured[-1]["val_loss"],
        "epochs": len(measured),
        "seconds": 1.5,
        "error": None,
        "parameters": {"optimizer.lr": rate, "dataset.size": 256},
    }
