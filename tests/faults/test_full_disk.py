"""A disk that is full or cannot be written ends no run, and its files stay complete."""

import contextlib
import errno
import os
import resource
import shutil
import subprocess
import sys

import isolation
from processes import others
from programs import until
from training import Training, pool, same

isolation.enter("mount")
asked = isolation.arguments(__doc__).parse_args()

# Long enough for an event during training: as many steps as a machine does in a second or two.
ENDLESS = 1_000_000_000
EVERY = 500  # steps
LOGGED = 50


@contextlib.contextmanager
def small_disk(folder, **options):
    """A separate file system; `options`: the options of mount."""
    disk = folder / "disk"
    disk.mkdir()
    told = ",".join(f"{name}={value}" for name, value in options.items())
    subprocess.run(["mount", "-t", "tmpfs", "-o", told, "none", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
        disk.rmdir()


def on_disk(folder, disk, name="small"):
    return Training(folder, name, results=disk / "results", device_pool=pool(2), steps=ENDLESS, log__every=LOGGED,
                    dataset__size=20001, checkpoint__save_every_steps=EVERY)  # fmt: skip


def fill(disk, but=0):
    """Fills a disk with a file, except for this many bytes; returns the file."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(bytes(4096))
    os.truncate(ballast, max(0, ballast.stat().st_size - but))
    return ballast


def until_step(run, command, step):
    until(lambda: max(run.saved_steps(), default=0) >= step or command.ended(), f"step {step} is saved")
    assert not command.ended(), command


def until_it_cannot_save(command, error=errno.ENOSPC, times=1):
    """Waits until the run has said more than once that it cannot save: the run continues."""
    until(lambda: command.said().count(os.strerror(error)) >= times or command.ended(), "it says that it cannot save")
    assert not command.ended(), command


def stop(command):
    command.kill(15)
    code = command.finish()
    until(lambda: not others(), "all processes have gone")
    return code


def goes_on_to_the_same(folder, run):
    """Resumes a stopped run for a while with enough space, and compares it with a run that was never stopped."""
    shutil.copytree(run.results, folder / "copy", symlinks=True)
    moved = Training(folder, run.name, results=folder / "copy", log__every=LOGGED)
    steps = (max(moved.saved_steps()) // EVERY + 2) * EVERY
    moved.complete(steps=steps)
    never = on_disk(folder, folder, "never")
    never.complete(steps=steps)
    same(moved, never.left(), but=("files",))


def room_comes_back(folder):
    """a run whose disk becomes full continues, says so, and saves again when there is space; no bit is lost"""
    with small_disk(folder, size="4m") as disk:
        run = on_disk(folder, disk)
        command = run.start()
        until_step(run, command, EVERY)
        ballast = fill(disk)
        full_at = max(run.saved_steps())
        until_it_cannot_save(command, times=2)
        whole = max(run.saved_steps())
        assert whole <= full_at + 2 * EVERY, (full_at, whole)
        ballast.unlink()
        until_step(run, command, whole + 2 * EVERY)
        assert stop(command) == 143, command
        goes_on_to_the_same(folder, run)


def no_room_to_the_end(folder):
    """a run whose last save finds the disk full ends with exit code 1 and says why; earlier checkpoints are complete
    and resume to the same bits"""
    with small_disk(folder, size="4m") as disk:
        run = on_disk(folder, disk)
        command = run.start()
        until_step(run, command, EVERY)
        fill(disk)
        until_it_cannot_save(command)
        assert stop(command) == 1 and os.strerror(errno.ENOSPC) in command.said(), command
        (disk / "ballast").unlink()
        goes_on_to_the_same(folder, run)


def no_inodes(folder):
    """a run whose disk has no space for another file name continues and saves again when there is space"""
    with small_disk(folder, size="16m", nr_inodes=60) as disk:
        run = on_disk(folder, disk)
        command = run.start()
        until_step(run, command, EVERY)
        names = disk / "names"
        names.mkdir()
        with contextlib.suppress(OSError):
            for number in range(100):
                (names / str(number)).touch()
        until_it_cannot_save(command)
        shutil.rmtree(names)
        until_step(run, command, max(run.saved_steps()) + 2 * EVERY)
        assert stop(command) == 143, command
        goes_on_to_the_same(folder, run)


def read_only_midway(folder):
    """a run whose folder becomes read-only continues, says so, and saves again when it can write"""
    with small_disk(folder, size="16m") as disk:
        run = on_disk(folder, disk)
        command = run.start()
        until_step(run, command, EVERY)
        # Files that are open for writing prevent a remount of the file system itself; a bind mount has its own
        # read-only flag.
        subprocess.run(["mount", "--bind", run.path, run.path], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", run.path], check=True)
        until_it_cannot_save(command, errno.EROFS, times=2)
        while subprocess.run(["umount", run.path], stderr=subprocess.DEVNULL).returncode != 0:
            assert not command.ended(), command  # the run has a file open in it at this moment
        until_step(run, command, max(run.saved_steps()) + 2 * EVERY)
        assert stop(command) == 143, command
        goes_on_to_the_same(folder, run)


def too_large_a_file(folder):
    """a run that may not write files of the size of a checkpoint (ulimit -f) ends with exit code 1 and says why"""
    run = Training(folder, "large", device_pool=pool(2), steps=4, checkpoint__save_every_steps=2, model__hidden="[4096]")
    command = run.start(preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)))
    assert command.finish() == 1 and os.strerror(errno.EFBIG) in command.said(), command
    assert not run.saved_steps(), run.saved_steps()
    run.complete()
    never = Training(folder, "never", device_pool=pool(2), steps=4, checkpoint__save_every_steps=2,
                     model__hidden="[4096]")  # fmt: skip
    never.complete()
    same(run, never.left())


def no_place_to_begin(folder):
    """a run whose results folder cannot be written is refused with exit code 2 and leaves nothing"""
    with small_disk(folder, size="1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        command = on_disk(folder, disk).start()
        assert command.finish() == 2 and os.strerror(errno.EROFS) in command.said(), command
        assert not command.printed() and not list(disk.iterdir()), command
    for names in range(2, 6):  # results, the run's name, the run, its two folders
        with small_disk(folder, size="1m", nr_inodes=names) as disk:
            command = on_disk(folder, disk).start()
            assert command.finish() == 2 and os.strerror(errno.ENOSPC) in command.said(), command
            assert not list(disk.rglob("*")), (command, list(disk.rglob("*")))


def no_place_to_begin_with_sources(folder):
    """a run without space for any part of its beginning, including copies of its sources, is refused and leaves
    nothing"""
    (folder / "own.cpp").write_text("namespace {\n[[maybe_unused]] int own = 1;\n}\n")
    environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    refused = 0
    for names in range(6, 40):
        with small_disk(folder, size="4m", nr_inodes=names) as disk:
            run = Training(folder, "own", results=disk / "results", device_pool=pool(2), steps=1, sources='["own.cpp"]')
            command = run.start(environment=environment)
            if command.finish() != 2:
                assert run.begun(), command
                break
            assert os.strerror(errno.ENOSPC) in command.said(), command
            assert not list(disk.rglob("*")), (names, command, list(disk.rglob("*")))
            refused += 1
    assert refused > 4, refused  # the folder of the sources, its two files, summary.json, config.toml


PROMISES = [room_comes_back, no_room_to_the_end, no_inodes, read_only_midway, too_large_a_file, no_place_to_begin,
            no_place_to_begin_with_sources]  # fmt: skip
sys.exit(isolation.check(PROMISES, asked.only))
