"""experiments/license_gpt.toml as shipped, but shorter: the numbers of nanoGPT's model and recipe in PyTorch's
Python."""

import os
import pathlib
import sys
import tomllib

from parity import case, check  # before numpy: it keeps numpy from starting threads

import text

FILE = pathlib.Path(os.environ["DDP_SOURCE"], "experiments", "license_gpt.toml")


def shipped():
    experiment = tomllib.loads(FILE.read_text())
    world = len(experiment.pop("device_pool"))
    dataset = experiment["dataset"]
    # The program takes these from the data.
    sizes = {"vocab_size": len(set(text.read(dataset["path"]))), "block_size": dataset["block_size"]}
    return world, experiment | {"loss": "cross_entropy", "steps": 120, "model": experiment["model"] | sizes}


if not all(map(os.path.exists, tomllib.loads(FILE.read_text())["dataset"]["path"])):
    print("skipped: this machine has no license files")
    sys.exit(77)
world, experiment = shipped()
sys.exit(check([case("license_gpt", world=world, **experiment)]))
