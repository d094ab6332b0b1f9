"""Trainings started by srun: one rank per task, or one launcher per node as in the HPC tutorial."""

from slurm import PROGRAM
from training import check_all, check_same_bits

SRUN = ["srun", "-N2", "-n4", "--ntasks-per-node=2", PROGRAM, "run", "small.toml"]

# The tutorial's launch.sh and job.sbatch, with its arguments, on two nodes of two ranks.
LAUNCH = f"""#!/bin/bash
nnodes=$1               # total number of nodes used in this computation
node_rank=$2            # current node rank, 0-indexed
nproc_per_node=2        # number of processes (models) per node
master_addr=$3          # hostname for the master node
port=$4

{PROGRAM} run small.toml --name tutorial --run-id by-hand \\
    --nproc_per_node ${{nproc_per_node}} \\
    --nnodes ${{nnodes}} \\
    --node_rank ${{node_rank}} \\
    --master_addr ${{master_addr}} \\
    --master_port ${{port}}
"""
JOB = """#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --time=1:00:00
#SBATCH --account=physics
#SBATCH --exclusive
#SBATCH --job-name=tutorial

var=(`scontrol show hostname $SLURM_NODELIST`)
node_sz=${#var[@]}

for i in `seq 0 $(expr $node_sz - 1)`;
do
    echo "launching ${i} job on ${var[i]} with master address ${var[0]}"
    srun -w ${var[$i]} -N 1 -n 1 -c 4 ./launch.sh ${node_sz} ${i} ${var[0]} 8888 &
done

wait
"""


def srun_starts_one_rank_a_task(slurm):
    said = slurm.run([*SRUN, "--name", "tasks", "--run-id", "one"])
    runs = sorted(run.name for run in (slurm.folder / "results/tasks").iterdir())
    assert runs == ["latest", "one"], runs
    assert said == "results/tasks/one\n", said
    check_same_bits(slurm, slurm.folder / "results/tasks/one", "tasks")


def srun_needs_no_run_id(slurm):
    said = slurm.run([*SRUN, "--name", "unnamed"])
    runs = sorted(run.name for run in (slurm.folder / "results/unnamed").iterdir())
    assert len(runs) == 2 and said == f"results/unnamed/{runs[0]}\n", (runs, said)


def srun_trains_sources_of_ones_own(slurm):
    slurm.run([PROGRAM, "new", "model", "own"])
    own = ["--set", 'sources=["own.cpp"]', "--set", 'model={ name = "own", width = 8 }']
    slurm.run([*SRUN, "--name", "own", "--run-id", "one", *own])
    check_same_bits(slurm, slurm.folder / "results/own/one", "own", *own)


def the_tutorials_scripts_are_one_training(slurm):
    (slurm.folder / "launch.sh").write_text(LAUNCH)
    (slurm.folder / "launch.sh").chmod(0o755)
    (slurm.folder / "job.sbatch").write_text(JOB)
    number = slurm.run(["sbatch", "job.sbatch"]).split()[-1]
    assert slurm.wait_for_end(number) == "COMPLETED"
    runs = sorted(run.name for run in (slurm.folder / "results/tutorial").iterdir())
    assert runs == ["by-hand", "latest"], (runs, slurm.output(number))
    check_same_bits(slurm, slurm.folder / "results/tutorial/by-hand", "tutorial")


check_all(srun_starts_one_rank_a_task, srun_needs_no_run_id, srun_trains_sources_of_ones_own,
          the_tutorials_scripts_are_one_training)
