"""The same as test_every_call.py with strace, which also reaches system calls that no library function makes."""

import collections
import re
import shutil
import sys

import isolation
from processes import others
from programs import until
from striking import SETTINGS, STEPS, half_done
from training import Training, same

isolation.enter("strace")
parser = isolation.arguments(__doc__)
parser.add_argument("--every", type=int, default=16, help="strike every 16th call; 1: all")
asked = parser.parse_args()


def paths(run):
    """All system calls that a save may use."""
    folders = [form.format(step) for step in range(2, STEPS + 1, 2) for form in (".step-{:08}.tmp", "step-{:08}")]
    names = [f"{name}.safetensors" for name in ("model", "optimizer")] + ["state.json", "COMPLETE"]
    names += [f"{name}.tmp" for name in names]
    inside = [f"{folder}/{name}" for folder in folders for name in names]
    whole = [run.path / "checkpoints" / name for name in ["", "latest", "latest.tmp", *folders, *inside]]
    whole.append(run.path / "metrics.jsonl")
    return [word for path in whole for word in ("-P", path, "-P", path.relative_to(run.folder))]


def under_strace(run, *words, log="/dev/null"):
    return ["strace", "--follow-forks", "-o", log, *paths(run), *words]


def half_done_copy(folder, name, half):
    run = Training(folder, name, **SETTINGS)
    if half:
        shutil.copytree(half.path.parent, run.path.parent, symlinks=True)
    return run


def calls(folder, half):
    """(name, number) of each call: strace counts the calls of one name in one thread."""
    run = half_done_copy(folder, f"traced{bool(half)}", half)
    run.complete(under=under_strace(run, log=folder / "log"))
    made = re.findall(r"^(\d+) +(\w+)\(", (folder / "log").read_text(), re.MULTILINE)
    most = collections.Counter()
    for (_, name), count in collections.Counter(made).items():
        most[name] = max(most[name], count)
    return [(name, number + 1) for name, count in sorted(most.items()) for number in range(count)]


def killed(folder):
    """a run that is killed at any system call of its first save, or of a save after a resume, resumes to the bits and
    files of a run that was not killed"""
    never = Training(folder, "never", **SETTINGS)
    never.complete()
    expected = never.left()
    struck = 0
    for half in (None, half_done(folder)):
        for name, number in calls(folder, half)[asked.seed % asked.every :: asked.every]:
            run = half_done_copy(folder, "struck", half)
            command = run.start(under=under_strace(run, "-e", f"inject={name}:signal=KILL:when={number}"))
            code = command.finish()
            until(lambda: not others(), "all processes have gone")
            assert code in (1, -9), f"{name} {number}: {command}"
            run.complete()
            same(run, expected)
            shutil.rmtree(run.path.parent)
            struck += 1
    return f"{struck} system calls, every {asked.every}. one"


sys.exit(isolation.check([killed], asked.only))
