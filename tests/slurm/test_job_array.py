"""sbatch runs the script of `ddp-exp sweep --array`: a trial of the sweep in each job of an array, over two nodes."""

import json

from slurm import PROGRAM
from training import EXPERIMENT, check_all

SWEEP = """
[sweep]
metric = "train_loss"
[sweep.parameters]
"optimizer.lr" = [0.1, 0.01, 0.001]
batch_size     = [4, 8]
"""


def trials_of_an_array_make_one_sweep(slurm):
    (slurm.folder / "sweep.toml").write_text(EXPERIMENT + SWEEP)
    asked = ["sweep", "sweep.toml", "--array", "--jobs", "3", "--partition", "gpu", "--time", "10:00", "--name", "swept"]
    assert slurm.run([PROGRAM, *asked, "--cpus-per-task", "2"]) == "job.sbatch\n"
    assert "#SBATCH --array=0-5%3\n" in (slurm.folder / "job.sbatch").read_text()
    slurm.run(["sbatch", "--wait", "job.sbatch"])
    sweep = slurm.folder / "results/swept/slurm-1"
    summary = json.loads((sweep / "summary.json").read_text())
    assert (summary["status"], summary["completed"]) == ("completed", 6), (summary, slurm.logs())
    alone = slurm.folder / "results/swept/alone"
    slurm.run([PROGRAM, "sweep", "sweep.toml", "--name", "swept", "--run-id", "alone"])
    expected = json.loads((alone / "summary.json").read_text())
    rows = [[(row["trial"], row["metric"], row["parameters"]) for row in each["ranking"]] for each in (summary, expected)]
    assert rows[0] == rows[1], rows
    for row in summary["ranking"]:
        one, other = (folder / row["directory"] / "checkpoints/latest/model.safetensors" for folder in (sweep, alone))
        assert one.read_bytes() == other.read_bytes(), row


def trials_that_depend_on_each_other_are_refused(slurm):
    refused = slurm.call(PROGRAM, "sweep", "sweep.toml", "--array", "--set", 'sweep.method="asha"')
    assert refused.code == 2 and "it cannot train them separately" in refused.err, refused


check_all(trials_of_an_array_make_one_sweep, trials_that_depend_on_each_other_are_refused)
