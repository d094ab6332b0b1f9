"""A preempted job saves, returns to the queue, and resumes under its run id to the bits of an uninterrupted run."""

import re

from slurm import PROGRAM
from training import EXPERIMENT, check_all, check_same_bits, steps_in, summary_of

STEPS_AN_EPOCH = 4  # 101 samples over 4 ranks, in batches of 8


def submit(slurm, name):
    """A job that would take hours, after a few steps: its number and its run."""
    (slurm.folder / f"{name}.toml").write_text(EXPERIMENT.replace("epochs      = 3", "epochs = 1000000"))
    asked = ["--nodes", "2", "--time", "10:00", "--output", f"{name}.sbatch", "--submit"]
    number = slurm.run([PROGRAM, "slurm", f"{name}.toml", *asked]).split()[-1]
    run = slurm.folder / "results" / name / f"slurm-{number}"
    slurm.wait_for(lambda: len(steps_in(run)) > 10, "a few steps")
    return number, run


def saved_step(run):
    step = int((run / "checkpoints/latest").resolve().name.removeprefix("step-"))
    assert summary_of(run)["status"] == "interrupted", summary_of(run)
    assert steps_in(run) == list(range(1, step + 1)), "the last step is not the one that was saved"
    return step


def wait_until_it_is_queued(slurm, number, restarts):
    def queued():
        job = slurm.job(number)
        return job["JobState"] == "PENDING" and job["Restarts"] == str(restarts)

    slurm.wait_for(queued, "the job to be back in the queue")


def a_preempted_job_goes_on_to_the_same_bits(slurm):
    number, run = submit(slurm, "preempted")
    # The ended job must not start again before this test has looked at it.
    slurm.run(["scontrol", "update", "PartitionName=gpu", "State=DOWN"])
    slurm.run(["scancel", "--batch", "--signal=USR2", number])
    wait_until_it_is_queued(slurm, number, restarts=1)
    first = saved_step(run)

    # The second time Slurm signals the launchers themselves, as with a grace time of preemption.
    slurm.run(["scontrol", "update", "PartitionName=gpu", "State=UP"])
    slurm.wait_for(lambda: len(steps_in(run)) > first + 10, "a few steps more")
    slurm.run(["scontrol", "update", "PartitionName=gpu", "State=DOWN"])
    slurm.run(["scancel", "--signal=TERM", number])
    wait_until_it_is_queued(slurm, number, restarts=2)
    second = saved_step(run)

    # From now on it may train to its end.
    epochs = second // STEPS_AN_EPOCH + 2
    for file in (slurm.folder / "preempted.toml", run / "config.toml"):
        text, changed = re.subn(r"(?m)^epochs\s*=.*$", f"epochs = {epochs}", file.read_text())
        assert changed == 1, text
        file.write_text(text)
    slurm.run(["scontrol", "update", "PartitionName=gpu", "State=UP"])
    assert slurm.wait_for_end(number) == "COMPLETED"
    check_same_bits(slurm, run, "preempted", "--set", f"epochs={epochs}")


def a_cancelled_job_saves_and_stays_cancelled(slurm):
    number, run = submit(slurm, "cancelled")
    slurm.run(["scancel", number])
    assert slurm.wait_for_end(number) == "CANCELLED"
    slurm.wait_for(lambda: not slurm.ranks_on("host1") + slurm.ranks_on("host2"), "its ranks to end")
    saved_step(run)
    assert slurm.job(number)["Restarts"] == "0"


check_all(a_preempted_job_goes_on_to_the_same_bits, a_cancelled_job_saves_and_stays_cancelled)
