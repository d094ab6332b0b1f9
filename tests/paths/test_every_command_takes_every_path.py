"""Every command works with any path and any name of the results folder and of the experiment file."""

import json
import os

from program import PROGRAM, SWEEP, TINY, Folder

# The results folders as given from the folder work/; "{}" is its parent folder.
ROOTS = {
    "relative": "results",
    "relative to the folder above": "../up",
    "absolute": "{}/absolute",
    "absolute with a slash at its end": "{}/slash/",
    "absolute with dots": "{}/work/../dots/.",
    "a symbolic link": "../link",
    "an absolute symbolic link": "{}/link2",
    "above the target of a link": "../link3/../above",
    "with blanks": "../with two blanks",
    "with quotes": "{}/it's \"so\" $HOME `here` \\",
    "not ASCII": "{}/résultats 結果",
    "not UTF-8": "{}/caf\udce9",
    "like an option": "-v",
}

# The experiment files as given from the folder work/.
FILES = ["../my exp.toml", "{}/it's \"so\".toml", "../été.toml", "../a folder/exp.toml", "../linked.toml",
         "{}/work/../tiny.toml", "-dash.toml", "../a folder/extends.toml"]


def last_line(text):
    return text.rstrip("\n").rsplit("\n", 1)[-1]


def commands_that_train(folder, root):
    work = folder.path / "work"
    run = last_line(folder.run("run", "../tiny.toml", "--run-id", "r1", f"--results={root}"))
    assert (work / run / "summary.json").is_file(), run
    printed, shown = folder.told("sweep", "../s.toml", "--run-id", "w1", f"--results={root}")
    sweep = work / last_line(printed)
    assert json.loads((sweep / "summary.json").read_text())["status"] == "completed", shown
    assert (sweep / "report.html").is_file() and "place" in shown, shown
    printed, shown = folder.told("resume", "s", f"--results={root}")
    assert "train best" in shown and os.path.samefile(work / last_line(printed), sweep), shown
    shown = folder.run("resume", "tiny", f"--results={root}", "--set", "steps=4")
    assert os.path.samefile(work / last_line(shown), work / run), shown


def commands_that_look(folder, root):
    work = folder.path / "work"
    names = {row["run"] for row in folder.json("list", f"--results={root}")["runs"]}
    assert names == {"tiny/r1", "s/w1"}, names
    for asked, name in {"tiny": "tiny/r1", "s": "s/w1", "s/w1/trials/001": "s/w1/trials/001"}.items():
        shown = folder.json("show", asked, f"--results={root}")
        assert shown["run"] == name, shown
        assert folder.run("show", asked, f"--results={root}").split()[1] == name
    assert len(folder.json("list", "s", f"--results={root}")["runs"]) == 2
    assert len(folder.json("compare", "s", "tiny", f"--results={root}")["runs"]) == 3
    assert folder.json("diff", "s/w1/trials/000", "tiny", f"--results={root}")
    assert os.path.samefile(work / last_line(folder.run("report", "s", f"--results={root}")),
                            work / root / "s/w1/report.html")
    assert "latest" in folder.run("__complete", "show", f"--results={root}", "")


def commands_that_plan(folder, root):
    assert folder.json("plan", "../tiny.toml", f"--results={root}")["steps"] == 2
    assert "results" in folder.run("plan", "../s.toml", f"--results={root}")
    assert "results" in folder.run("run", "../tiny.toml", "--dry-run", f"--results={root}")
    for command in (["slurm", "../tiny.toml"], ["sweep", "../s.toml", "--array"]):
        script = os.fsencode(folder.run(*command, "--output", "-", f"--results={root}"))
        code, out, err = folder.start(["bash", "-c", 'eval "$(grep -a ^results=)"; printf %s "$results"'], input=script)
        assert os.path.samefile(out, folder.path / "work" / root), (code, out, err)
    for command in (["validate", "../tiny.toml"], ["models"], ["datasets"], ["schema"], ["completion", "bash"]):
        folder.run(*command, f"--results={root}")


def the_best_alone_leaves_the_sweep_its_name(folder, root):
    command = folder.json("show", "s", f"--results={root}")["repeat"]
    folder.shell(command)
    assert folder.json("show", "s", f"--results={root}")["run"] == "s/w1"
    best = folder.json("show", "s-best", f"--results={root}")
    assert (best["kind"], best["steps"]) == ("run", 2), best


def every_root_works():
    with Folder() as folder:
        for name in ("link", "link2"):
            (folder.path / f"its target of {name}").mkdir()
            (folder.path / name).symlink_to(f"its target of {name}")
        (folder.path / "deep" / "below").mkdir(parents=True)
        (folder.path / "link3").symlink_to("deep/below")
        for kind, given in ROOTS.items():
            root = given.format(folder.path)
            commands_that_train(folder, root)
            commands_that_look(folder, root)
            commands_that_plan(folder, root)
            if os.fsencode(root).isascii() or kind == "not ASCII":  # JSON holds only UTF-8
                the_best_alone_leaves_the_sweep_its_name(folder, root)
            print("works: a results folder that is", kind)


def every_experiment_file_works():
    with Folder() as folder:
        (folder.path / "a folder").mkdir()
        (folder.path / "linked.toml").symlink_to("a folder/exp.toml")
        for number, given in enumerate(FILES):
            file = given.format(folder.path)
            text = 'extends = "../tiny.toml"\n' if "extends" in file else TINY
            if not os.path.lexists(folder.path / "work" / file):
                (folder.path / "work" / file).write_text(text)
            of_file = ["--name", f"n{number}", "--", file]
            assert "ok" in folder.run("validate", "--set", f"name=n{number}", "--", file)
            assert folder.json("plan", "--set", f"name=n{number}", f"--results=results{number}", file
                               if not file.startswith("-") else f"./{file}")["name"] == f"n{number}"
            folder.run("run", *of_file)
            folder.run("resume", f"n{number}", "--set", "steps=3")
            folder.run("slurm", "--output", "-", *of_file)
            folder.run("k8s", *of_file)
            sweep = ["--set", 'sweep.parameters={"optimizer.lr"=[0.1,0.01]}', "--name", f"s{number}", "--", file]
            folder.run("sweep", *sweep)
            folder.run("resume", f"s{number}")
            print("works: the experiment file", given)


def comm_works_in_any_folder():
    with Folder() as folder:
        folder.run("comm", "--op", "all_reduce", "--sizes", "1KiB", "--results=anywhere")


every_root_works()
every_experiment_file_works()
comm_works_in_any_folder()
