"""An error of the file system is reported with the act and the path: no exception of a library reaches the user
unchanged."""

import shutil

from program import PROGRAM, Folder

LONG = "x" * 300

# Results folders that are not folders.
BAD_ROOTS = {
    "a file": ("file", "Not a directory"),
    "below a file": ("file/below", "Not a directory"),
    "a link that leads nowhere": ("nowhere", "is a link to gone, which is not there"),
    "links in a circle": ("circle", "Too many levels of symbolic links"),
    "a name that is too long": (LONG, "File name too long"),
}
TRAINING = (["run", "../tiny.toml"], ["run", "../tiny.toml", "--run-id", "q"], ["sweep", "../s.toml"],
            ["sweep", "../s.toml", "--run-id", "q"], ["sweep", "../s.toml", "--run-id", "q", "--trial", "0"])
LOOKING = (["show", "latest"], ["show", "tiny"], ["resume", "tiny"], ["list", "tiny"], ["compare", "a", "b"],
           ["diff", "a", "b"], ["report", "tiny"])

# Each row: a path in the results that another kind of file occupies, and the commands that meet it with their messages.
IN_THE_WAY = [
    ("tiny/r1/metrics.jsonl", [(["resume", "tiny", "--set", "steps=4"], 2, "metrics.jsonl"),
                               (["show", "tiny"], 0, ""), (["list"], 0, ""), (["report", "tiny"], 0, "metrics.jsonl")]),
    ("tiny/r1/summary.json", [(["show", "tiny"], 2, "summary.json"), (["list"], 0, "summary.json"),
                              (["report", "tiny"], 0, "summary.json")]),
    ("tiny/r1/config.toml", [(["resume", "tiny"], 2, "config.toml"), (["report", "tiny"], 0, "config.toml")]),
    ("tiny/r1/checkpoints", [(["resume", "tiny", "--set", "steps=4"], 1, "checkpoints"), (["show", "tiny"], 0, "")]),
    ("tiny/r1/logs", [(["resume", "tiny", "--set", "steps=4"], 0, ""), (["show", "tiny"], 0, "")]),
    ("tiny/r1/tensorboard", [(["resume", "tiny", "--set", "steps=4"], 0, "tensorboard")]),
    ("s/w1/summary.json", [(["show", "s"], 2, "summary.json"), (["resume", "s"], 2, "summary.json"),
                           (["list"], 0, "summary.json"), (["report", "s"], 2, "summary.json")]),
    ("s/w1/sweep.toml", [(["resume", "s"], 2, "sweep.toml")]),
    ("s/w1/journal.jsonl", [(["resume", "s"], 2, "journal.jsonl")]),
    ("s/w1/report.html", [(["resume", "s"], 0, "report.html"), (["report", "s"], 2, "report.html")]),
    ("s/w1/trials/000/summary.json", [(["show", "s"], 0, ""), (["list", "s"], 0, "summary.json")]),
]


def bad_results_roots():
    with Folder() as folder:
        work = folder.path / "work"
        (work / "file").write_text("")
        (work / "nowhere").symlink_to("gone")
        (work / "circle").symlink_to("circle")
        for kind, (root, reason) in BAD_ROOTS.items():
            for command in TRAINING:
                said = folder.refused(*command, "--results", root)
                assert reason in said and root[:50] in said, (command, said)
            for command in LOOKING:
                assert root[:50] in folder.refused(*command, "--results", root), command
            folder.run("list", "--results", root)
            folder.run("__complete", "show", "--results", root, "")
            print("reported: a results folder that is", kind)


def results_with_something_in_the_way():
    with Folder() as folder:
        work = folder.path / "work"
        folder.run("run", "../tiny.toml", "--run-id", "r1", "--results", "whole")
        folder.run("sweep", "../s.toml", "--run-id", "w1", "--results", "whole")
        for place, commands in IN_THE_WAY:
            for command, code, said in commands:
                shutil.rmtree(work / "results", ignore_errors=True)
                shutil.copytree(work / "whole", work / "results", symlinks=True)
                path = work / "results" / place
                if path.is_dir():
                    shutil.rmtree(path)
                    path.write_text("not a folder")
                else:
                    path.unlink(missing_ok=True)
                    (path / "something").mkdir(parents=True)
                got, out, err = folder.start([PROGRAM, *command])
                assert got == code and said in err, f"{place}: {command} exited with {got}, not {code}:\n{out}{err}"
            print("reported: another kind of file in the place of", place)


def a_working_folder_that_is_deleted():
    with Folder() as folder:
        folder.run("run", "../tiny.toml", "--run-id", "r1")
        folder.run("sweep", "../s.toml", "--run-id", "w1")
        results = folder.path / "work/results"
        files = str(folder.path)
        gone = ["bash", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "-", PROGRAM]

        def in_no_folder(*command):
            return folder.start([*gone, *command])

        for command in (["list"], ["list", "tiny/r1"], ["show", "tiny"], ["show", "s"], ["report", "s"],
                        ["compare", "s/w1/trials/000", "tiny"], ["diff", "s/w1/trials/000", "tiny"]):
            code, out, err = in_no_folder(*command, f"--results={results}")
            assert code == 0 and out, (command, code, err)
        for command in (["validate", f"{files}/tiny.toml"], ["schema"], ["models"], ["completion", "bash"],
                        ["slurm", f"{files}/tiny.toml", "--output", "-", f"--results={results}"]):
            assert in_no_folder(*command)[0] == 0, command
        # LibTorch does not load without a working directory.
        for command in (["run", f"{files}/tiny.toml"], ["sweep", f"{files}/s.toml"], ["plan", f"{files}/tiny.toml"],
                        ["resume", "tiny", "--set", "steps=4"], ["resume", "s"],
                        ["slurm", f"{files}/tiny.toml", "--output", "-", "--results=relative"]):
            if "--results=relative" not in command:
                command.append(f"--results={results}")
            code, out, err = in_no_folder(*command)
            assert code == 2 and "working folder" in err, (command, code, out, err)
        code, _, err = in_no_folder("show", "tiny", "--results=relative")
        assert code == 2 and "no such run" in err, err
        print("reported: a deleted working directory")


bad_results_roots()
results_with_something_in_the_way()
a_working_folder_that_is_deleted()
