"""A run that gets too little memory ends with a plain error, and can be resumed with more."""

import contextlib
import os
import pathlib
import resource
import sys

import isolation
from processes import others
from programs import until
from training import Training, pool, same

isolation.enter("mount")
asked = isolation.arguments(__doc__).parse_args()

MIB = 1 << 20
# 17 MB of parameters per rank, and as much for gradients and for momentum.
SETTINGS = {"device_pool": pool(2), "steps": 3, "model__hidden": "[2048, 2048]"}


def ends_plainly(run, command):
    """Returns true if the command ended well. Otherwise requires a plain error and no half-started run."""
    code = command.finish()
    until(lambda: not others(), "all processes have gone")
    if code == 0:
        return True
    said = command.said()
    # The second text is the error of a thread that gets no stack.
    named = "memory" in said.lower() or "Resource temporarily unavailable" in said
    assert code in (1, 2) and "error: " in said and named, command
    assert "terminate called" not in said and "frame #" not in said, command
    assert run.begun() or not run.results.exists(), f"half-begun: {list(run.results.rglob('*'))} {command}"
    if run.begun():
        assert run.summary()["status"] == "failed", run.summary()
    return False


def address_space(folder):
    """a run with too little address space (ulimit -v) is refused or fails, names memory as the reason, and resumes with
    more to the same bits"""
    never = Training(folder, "never", **SETTINGS)
    never.complete()
    ended = []
    for limit in (100, 300, 350, 400, 440, 480, 520, 560, 600, 700):
        run = Training(folder, f"mib{limit}", results=folder / f"results{limit}", **SETTINGS)
        command = run.start(preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB)))
        well = ends_plainly(run, command)
        when = "ended well" if well else f"failed after step {run.last_step()}" if run.begun() else "did not begin"
        ended.append(f"{limit} MiB: {when}")
        run.complete()
        same(run, never.left())
    return "; ".join(ended)


@contextlib.contextmanager
def memory_group(mib):
    """A control group with this memory limit."""
    group = pathlib.Path(f"/sys/fs/cgroup/memory/ddp-exp-faults-{os.getpid()}-{mib}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(mib * MIB))
    except OSError as error:
        raise isolation.NotHere(f"no memory control group of version 1: {error}") from error
    try:
        yield ["sh", "-c", f"echo $$ > {group}/tasks && exec \"$0\" \"$@\""]
    finally:
        group.rmdir()


def killed_for_memory(folder):
    """a run that the kernel ends for lack of memory says which rank was killed, and resumes to the same bits"""
    never = Training(folder, "never", **SETTINGS)
    never.complete()
    ended = []
    for limit in (150, 400, 600):
        run = Training(folder, f"group{limit}", results=folder / f"results{limit}", **SETTINGS)
        with memory_group(limit) as words:
            command = run.start(under=words)
            code = command.finish()
            until(lambda: not others(), "all processes have gone")
        ended.append(f"{limit} MiB: exit {code}" + (f" after step {run.last_step()}" if run.begun() else ""))
        # The kernel may choose the parent.
        assert code in (0, 1, -9) and (code != 1 or "kill" in command.said().lower()), command
        run.complete()
        same(run, never.left())
    return "; ".join(ended)


sys.exit(isolation.check([address_space, killed_for_memory], asked.only))
