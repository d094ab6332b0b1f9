"""sbatch runs the script of `ddp-exp slurm`: one training over two nodes, and a job that fails if a rank fails."""

import os
import re
import signal

from slurm import PROGRAM
from programs import events_in
from training import check_all, check_same_bits, steps_in, summary_of

JOB = ["--nodes", "2", "--partition", "gpu", "--account", "physics", "--time", "10:00", "--gpus-per-node", "2"]


def a_job_trains_over_two_nodes(slurm):
    asked = [*JOB, "--job-name", "it's a \"job\"; $HOME", "--set", "optimizer={name = 'sgd', lr = 0.02}"]
    assert slurm.run([PROGRAM, "slurm", "small.toml", *asked, "--name", "small"]) == "job.sbatch\n"
    assert slurm.run(["sbatch", "job.sbatch"]) == "Submitted batch job 1\n"
    assert slurm.wait_for_end(1) == "COMPLETED"
    check_same_bits(slurm, slurm.folder / "results/small/slurm-1", "small", *asked[-2:])
    described = slurm.run(["scontrol", "show", "job", "1"])
    for text in ("JobName=it's a \"job\"; $HOME\n", "Account=physics", "TresPerNode=gres:gpu:2", "Requeue=1"):
        assert text in described, (text, described)


def submit_hands_the_job_to_sbatch(slurm):
    said = slurm.run([PROGRAM, "slurm", "small.toml", *JOB, "--name", "submitted", "--force", "--submit"])
    assert said == "Submitted batch job 2\n", said
    assert slurm.wait_for_end(2) == "COMPLETED"
    assert summary_of(slurm.folder / "results/submitted/slurm-2")["status"] == "completed"
    wrong = [PROGRAM, "slurm", "small.toml", "--partition", "gone", "--output", "other.sbatch", "--submit"]
    refused = slurm.call(*wrong)
    assert refused.code == 1 and "invalid partition specified" in refused.err, refused


def a_rank_that_dies_fails_the_job(slurm):
    asked = ["--set", "epochs=1000000", "--name", "long", "--output", "long.sbatch", "--submit"]
    number = slurm.run([PROGRAM, "slurm", "small.toml", *JOB, *asked]).split()[-1]
    run = slurm.folder / f"results/long/slurm-{number}"
    slurm.wait_for(lambda: len(steps_in(run)) > 10, "a few steps")
    os.kill(slurm.ranks_on("host2")[0], signal.SIGKILL)
    assert slurm.wait_for_end(number) == "FAILED"
    assert slurm.job(number)["ExitCode"] == "1:0", slurm.job(number)
    output = slurm.output(number)
    assert re.search(r"the launch on host[12] ended with exit code 1\n", output), output
    summary = summary_of(run)
    assert summary["status"] == "failed" and summary["error"]["rank"] in (2, 3), summary
    assert not slurm.ranks_on("host1"), "ranks of the other node are left"


def a_launch_that_cannot_begin_fails_the_job(slurm):
    slurm.run([PROGRAM, "slurm", "small.toml", *JOB, "--name", "half", "--output", "half.sbatch"])
    script = slurm.folder / "half.sbatch"
    text = script.read_text()
    script.write_text(text.replace("; do\n  srun", "; do\n  if ((i == 1)); then program=gone; fi\n  srun", 1))
    number = slurm.run(["sbatch", "--wait", "half.sbatch"], code=2).split()[-1]
    assert slurm.wait_for_end(number) == "FAILED"
    output = slurm.output(number)
    assert "the launch on host2 ended with exit code 2" in output, output
    assert not (slurm.folder / f"results/half/slurm-{number}/metrics.jsonl").exists()


def an_elastic_job_goes_on_without_a_killed_node(slurm):
    asked = ["--set", "steps=3000", "--set", "logical_ranks=4", "--set", "log.every=1"]
    job = [PROGRAM, "slurm", "small.toml", *JOB, *asked, "--elastic", "--name", "elastic", "--output", "elastic.sbatch"]
    number = slurm.run([*job, "--submit"]).split()[-1]
    run = slurm.folder / f"results/elastic/slurm-{number}"
    slurm.wait_for(lambda: len(steps_in(run)) > 10, "a few steps")
    (launch,) = {parent_of(rank) for rank in slurm.ranks_on("host2")}
    os.kill(launch, signal.SIGKILL)
    assert slurm.wait_for_end(number) == "COMPLETED", slurm.output(number)
    assert f"job {number} goes on without host2" in slurm.output(number), slurm.output(number)
    assert [event["ranks"] for event in events_in(run / "metrics.jsonl", "world")] == [2]
    check_same_bits(slurm, run, "elastic", *asked, ranks=2)


def parent_of(process):
    return int(open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[1])


check_all(
    a_job_trains_over_two_nodes,
    submit_hands_the_job_to_sbatch,
    a_rank_that_dies_fails_the_job,
    a_launch_that_cannot_begin_fails_the_job,
    an_elastic_job_goes_on_without_a_killed_node,
)
