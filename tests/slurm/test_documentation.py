"""The commands of the Slurm section of docs/clusters.md work, in their order."""

import os
import pathlib
import re
import shlex

from training import check_all, summary_of

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
SECTION = re.search(r"^## Slurm\n(.*?)(?=^## |\Z)", (SOURCE / "docs/clusters.md").read_text(), re.M | re.S).group(1)


def the_commands_of_the_documentation_train(slurm):
    (slurm.folder / "experiments").symlink_to(SOURCE / "experiments")
    commands = re.findall(r"^\$ (.*)", "".join(re.findall(r"^```console\n(.*?)^```", SECTION, re.M | re.S)), re.M)
    assert len(commands) >= 4, commands
    for command in commands:
        slurm.run(shlex.split(command))
    assert slurm.wait_for_end(1) == "COMPLETED"
    for run in ("basic/slurm-1", "tried/latest"):
        summary = summary_of(slurm.folder / "results" / run)
        assert (summary["status"], summary["world_size"]) == ("completed", 4), summary


check_all(the_commands_of_the_documentation_train)
