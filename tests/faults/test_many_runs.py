"""Runs that are started at the same moment do not interfere."""

import pathlib
import subprocess
import sys

import isolation
from processes import listeners, others
from programs import sets
from training import Training, pool

isolation.enter("mount")
parser = isolation.arguments(__doc__)
parser.add_argument("--runs", type=int, default=12)
asked = parser.parse_args()


def at_once(folder):
    """many runs of one experiment, started at once, all end with the bits of a run that was alone, and leave no
    process, no listener and no file except their results"""
    never = Training(folder, "never", device_pool=pool(2), steps=20)
    never.complete()
    expected = never.left()
    own = folder / "tmp"
    own.mkdir()
    run = Training(folder, "many", device_pool=pool(2), steps=20)
    backends = ["shm", "gloo"]
    commands = [run.start(*sets(backend=f'"{backends[n % 2]}"'), anew=True, environment={"TMPDIR": str(own)})
                for n in range(asked.runs)]  # fmt: skip
    codes = [command.finish(within=600) for command in commands]
    assert codes == [0] * asked.runs, "".join(str(command) for command in commands if command.finish())
    assert not others(), others()
    assert not listeners(), listeners()
    for place in (own, pathlib.Path("/dev/shm")):
        assert not list(place.iterdir()), list(place.iterdir())
    folders = {command.printed().strip() for command in commands}
    assert len(folders) == asked.runs, folders
    names = sorted(path.name for path in run.path.parent.iterdir())
    assert names == sorted([pathlib.Path(path).name for path in folders] + ["latest"]), names
    for path in folders:
        run.path = pathlib.Path(path)
        assert {k: v for k, v in run.left().items() if k != "files"} == {
            k: v for k, v in expected.items() if k != "files"}, path  # fmt: skip
    seconds = max(command.seconds for command in commands)
    return f"{asked.runs} runs of 2 ranks, {seconds:.1f} s in all"


# Files that other programs leave there at the same moment do not count.
subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
sys.exit(isolation.check([at_once], asked.only))
