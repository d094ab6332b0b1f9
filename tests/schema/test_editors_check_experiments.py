"""The schema that `ddp-exp schema` prints accepts every valid experiment file and refuses every mistake, both in taplo,
which editors use, and in a JSON Schema validator. Editors find it through .taplo.toml or through a line of the file."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib

import jsonschema

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
PROGRAM = pathlib.Path(os.environ["DDP_EXP"])
TAPLO = next(pathlib.Path(os.environ["DDP_TOOLS"].split(":")[0]).glob("taplo-*.data/scripts/taplo"))
EXPERIMENTS = sorted((SOURCE / "experiments").glob("*.toml"))
WRITTEN = PROGRAM.parent / "experiment.schema.json"  # written by the build

GOOD = 'model = "linear"\ndataset = "random_pairs"\n'
MISTAKES = {
    "a misspelt key": GOOD + "batch_sise = 32",
    "a misspelt key of a section": GOOD + "[loader]\nshufle = true",
    "a misspelt option of a component": 'model = { name = "mlp", in_features = 4, hiden = [3], out_features = 2 }\ndataset = "digits"',
    "a misspelt component": 'model = "liner"\ndataset = "random_pairs"',
    "a boolean for a number": GOOD + "seed = true",
    "text for a number": GOOD + 'optimizer = { name = "sgd", lr = "0.1" }',
    "a number out of range": GOOD + "[validation]\nsplit = 1.5",
    "an unknown choice": GOOD + 'backend = "glo"',
    "two keys that exclude each other": GOOD + "epochs = 1\nsteps = 1",
    "no dataset": 'model = "linear"',
}  # fmt: skip


def taplo(*words, cwd=None):
    done = subprocess.run([TAPLO, "check", *words], cwd=cwd, capture_output=True, text=True)
    return done.returncode == 0, done.stderr


printed = subprocess.run([PROGRAM, "schema"], capture_output=True, check=True, text=True).stdout
assert WRITTEN.read_text() == printed, "the build's schema is not the program's"
jsonschema.Draft4Validator.check_schema(json.loads(printed))
validator = jsonschema.Draft4Validator(json.loads(printed))
assert len(EXPERIMENTS) >= 9, EXPERIMENTS

with tempfile.TemporaryDirectory(prefix="ddp-schema-") as name:
    folder = pathlib.Path(name)

    # The repository as an editor sees it.
    shutil.copy(SOURCE / ".taplo.toml", folder)
    shutil.copytree(SOURCE / "experiments", folder / "experiments")
    built = folder / "build/release/bin"
    built.mkdir(parents=True)
    shutil.copy(WRITTEN, built)
    good, said = taplo("experiments/*.toml", cwd=folder)
    assert good and f"total={len(EXPERIMENTS)} " in said, said
    for file in EXPERIMENTS:
        validator.validate(tomllib.loads(file.read_text()))
    for what, text in MISTAKES.items():
        (folder / "experiments/mistake.toml").write_text(text)
        good, said = taplo("experiments/mistake.toml", cwd=folder)
        assert not good and "error:" in said, (what, said)
        assert not validator.is_valid(tomllib.loads(text)), what
        assert subprocess.run([PROGRAM, "validate", folder / "experiments/mistake.toml"], capture_output=True).returncode == 2
    (folder / "experiments/mistake.toml").write_text(GOOD)
    assert taplo("experiments/mistake.toml", cwd=folder)[0]

    # In other folders a line of the file names the schema.
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "experiment.schema.json").write_text(printed)
    for text, expected in ((GOOD, True), (MISTAKES["a misspelt key"], False)):
        (elsewhere / "mine.toml").write_text(f"#:schema ./experiment.schema.json\n{text}")
        assert taplo("mine.toml", cwd=elsewhere)[0] == expected, text

    # The config.toml that a run writes is an experiment file.
    subprocess.run([PROGRAM, "run", SOURCE / "experiments/basic.toml", "--set", "epochs=1", "--run-id", "r"], cwd=folder,
                   check=True, capture_output=True)  # fmt: skip
    resolved = folder / "results/basic/r/config.toml"
    good, said = taplo("--schema", f"file://{WRITTEN}", resolved)
    assert good, said
    validator.validate(tomllib.loads(resolved.read_text()))

print(f"{len(EXPERIMENTS)} files are accepted, {len(MISTAKES)} mistakes refused")
