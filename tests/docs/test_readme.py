"""Every command of README.md, docs/first-steps.md and docs/results.md works exactly as written, in this order. The model
of docs/experiment-file.md is built and trains."""

import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
PAGES = "".join((SOURCE / page).read_text() for page in ("README.md", "docs/first-steps.md", "docs/results.md"))
COMPONENTS = (SOURCE / "docs/experiment-file.md").read_text()


def blocks(language, text=PAGES):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def run(command, folder, **environment):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def write_people(file, count, with_target):
    """The table that docs/first-steps.md describes: customers over 40 who visit often buy; in Bonn the age is a little
    lower."""
    draw = random.Random(count)
    lines = ["age,city,visits" + ",bought" * with_target]
    for _ in range(count):
        age, city, visits = draw.randint(18, 80), draw.choice(["Aachen", "Bonn", "Celle"]), draw.randint(0, 9)
        bought = "yes" if age + 5 * visits + 10 * (city == "Bonn") > 70 else "no"
        lines.append(f"{age},{city},{visits}" + f",{bought}" * with_target)
    file.write_text("\n".join(lines) + "\n")


def bring_data(folder):
    """The tables, and the experiment exactly as written."""
    columns = re.search(r"`people.csv` has the columns (\w+), (\w+), (\w+) and (\w+)", PAGES).groups()
    write_people(folder / "people.csv", 400, with_target=True)
    write_people(folder / "strangers.csv", 50, with_target=False)
    assert (folder / "people.csv").read_text().startswith(",".join(columns) + "\n"), columns
    experiment = next(block for block in blocks("toml") if "people.csv" in block)
    assert len(experiment.splitlines()) <= 8, experiment
    (folder / "people.toml").write_text(experiment)
    (folder / "people_sweep.toml").write_text(next(block for block in blocks("toml") if "people.toml" in block))
    (folder / "net.py").write_text(blocks("python")[0])


def answers_fit(folder):
    people = json.loads((folder / "results/people/latest/summary.json").read_text())
    assert people["final"]["val_accuracy"] > 0.9, people["final"]
    header, *answers = (folder / "answers.csv").read_text().splitlines()
    assert header == "prediction,probability_no,probability_yes" and len(answers) == 50, (header, len(answers))
    assert {answer.split(",")[0] for answer in answers} == {"no", "yes"}, answers


def commands_work(folder):
    """Runs in a folder that looks like the checkout, so results/ is not written to the checkout. The pages name the
    program by scripts/ddp-exp, or by ddp-exp with scripts/ in PATH."""
    path = f"{folder / 'scripts'}:{os.environ['PATH']}"
    for name in ("scripts", "experiments", "data", "python"):
        (folder / name).symlink_to(SOURCE / name)
    bring_data(folder)
    commands = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 40, commands
    for command in commands:
        words = shlex.split(command)
        if words[0] == "python3":
            run([os.environ["DDP_PYTHON"], *words[1:]], folder, PYTHONPATH=os.environ["DDP_PYTHONPATH"])
        else:
            run(words, folder, PATH=path)
        print("works:", command)
    answers_fit(folder)
    basic = json.loads((folder / "results/basic/latest/summary.json").read_text())
    assert (basic["status"], basic["epochs"]) == ("completed", 12), basic
    digits = json.loads((folder / "results/digits/latest/summary.json").read_text())
    assert digits["final"]["val_accuracy"] >= 0.97, digits["final"]
    sweep = json.loads((folder / "results/digits_sweep/latest/summary.json").read_text())
    assert (sweep["status"], sweep["completed"]) == ("completed", 12), sweep
    assert not (folder / "results/faster").exists()  # `rm faster`


# A build needs these. ccache's objects of this checkout are valid for the copy too.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "bench", "cmake", "datasets", "experiments", "models", "python", "runner",
           "scripts")  # fmt: skip


def added_file():
    """The file that "A model in one file" shows, its content, and the commands that follow."""
    section = COMPONENTS[COMPONENTS.index("### A model in one file") : COMPONENTS.index("## Weights of another model")]
    file = re.search(r"Save this as `(.*?)`", section).group(1)
    train = re.search(r"Then `(scripts/ddp-exp run .*?)` trains it", section).group(1)
    typo, said = re.search(r"`(--set .*?)` is refused with `(.*?)`", section).groups()
    return file, blocks("cpp", section)[0], shlex.split(train), shlex.split(typo), said


def model_trains(folder):
    """In a copy of the checkout: the file is written, and the next call builds and trains it."""
    for name in SOURCES:
        source = SOURCE / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy2(source, folder)
    file, text, train, typo, said = added_file()
    assert not (folder / file).exists(), file
    (folder / file).write_text(text)
    started = time.monotonic()
    run([*train, "--name", "two"], folder)
    summary = json.loads((folder / "results/two/latest/summary.json").read_text())
    assert summary["final"]["train_loss"] < 0.2, summary["final"]
    print(f"builds and trains: {file}, in {time.monotonic() - started:.0f} s")
    refuses([*train, *typo], folder, said)
    refuses([*train, "--set", "parallel=data_parallel"], folder, "this model cannot be copied onto several devices")


def refuses(command, folder, said):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr, f"{command} exited with {done.returncode}:\n{done.stderr}"
    print("refused:", shlex.join(command))


for check in (commands_work, model_trains):
    with tempfile.TemporaryDirectory() as scratch:
        check(pathlib.Path(scratch))
sys.stdout.flush()
