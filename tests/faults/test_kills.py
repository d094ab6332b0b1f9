"""A run may be killed at any moment, any number of times."""

import collections
import os
import random
import signal
import sys
import time

import isolation
from processes import others, ranks
from programs import children, until
from training import EXPERIMENT, RECIPE, Fork, Training, pool, same, write_images

isolation.enter()
parser = isolation.arguments(__doc__)
parser.add_argument("--kills", type=int, default=30)
parser.add_argument("--parents", type=int, default=10, help="kills of a parent alone")
parser.add_argument("--restarts", type=int, default=8, help="kills of a rank whose command starts all again")
parser.add_argument("--forks", type=int, default=8, help="kills of a fork's processes")
parser.add_argument("--any-ranks", type=int, default=8, help="kills of runs that go on with other numbers of ranks")
parser.add_argument("--recipes", type=int, default=8, help="kills of the processes of a recipe's run")
asked = parser.parse_args()

WORLDS = [(1, "auto"), (2, "shm"), (3, "shm"), (2, "gloo"), (3, "gloo")]
# Of runs with four logical ranks.
ANY_WORLDS = [(1, "auto"), (2, "shm"), (4, "shm"), (2, "gloo"), (4, "gloo")]
STEPS = 150
FORKED_AFTER = 101  # inside an epoch for every world size
MOST_KILLS_OF_A_RUN = 40  # after these the run may end

# The reasons for saves, in turn. Without a number of steps a run saves after a validation that improves, and because of
# the time: a timed save is due again in less time than a step takes.
SAVES = [
    {"checkpoint__save_every_steps": 5},
    {"validation__split": 0.2, "checkpoint__save_every_minutes": 0.00001},
    {"validation__split": 0.2, "checkpoint__save_every_minutes": 0.00001, "checkpoint__save_every_steps": 7,
     "checkpoint__keep_last": 1, "checkpoint__keep_best": 2},
]  # fmt: skip


class Kills:
    """Runs, one after another, that are killed at random until they have ended, each compared with a run of the same
    world size that was never killed."""

    def __init__(self, folder, seed, experiment=EXPERIMENT, any_ranks=False):
        """`any_ranks`: a killed run goes on with a random number of ranks."""
        self.folder = folder
        self.experiment = experiment
        self.any_ranks = any_ranks
        self.random = random.Random(seed)
        self.count = collections.Counter()  # by victim and by moment
        self.runs = 0
        self.gone = []  # seconds from a parent's death until the last of its ranks is gone
        self._references = {}

    def one_run(self, only_parents=False):
        reference, seconds = self._reference(*self._turn())
        run = self._training(f"killed{self.runs}", *self._turn())
        self._kill_until_it_ends(run, reference, seconds, only_parents)

    def one_fork(self):
        """Forks a run that was never killed, after a step inside an epoch. The fork trains as long as the other
        runs."""
        world, _ = self._turn()
        origin = self._training(f"origin_{world[0]}_{world[1]}", world, {"checkpoint__save_every_steps": FORKED_AFTER})
        settings = {"steps": FORKED_AFTER + STEPS, **SAVES[0], "checkpoint__save_every_minutes": 0.00001}
        if not origin.begun():
            origin.complete(steps=FORKED_AFTER)
        never = Fork(origin, FORKED_AFTER, f"never_forked_{world[0]}_{world[1]}", **settings)
        begun = time.monotonic()
        if not never.begun():
            never.complete()
            self._references[never.name] = never.left(), time.monotonic() - begun
        self._kill_until_it_ends(Fork(origin, FORKED_AFTER, f"forked{self.runs}", **settings),
                                 *self._references[never.name])  # fmt: skip

    def _kill_until_it_ends(self, run, reference, seconds, only_parents=False):
        self.runs += 1
        for kill in range(MOST_KILLS_OF_A_RUN):
            if not self._kill_once(run, self.random.random() * seconds, only_parents):
                break
        run.complete()
        same(run, reference, but=("files",) if self.any_ranks else ())

    def one_run_that_restarts(self):
        """Kills ranks of one command."""
        reference, seconds = self._reference(*self._turn())
        run = self._training(f"restarted{self.runs}", *self._turn())
        self.runs += 1
        command = run.start("--max-restarts", MOST_KILLS_OF_A_RUN)
        for _ in range(MOST_KILLS_OF_A_RUN // 5):
            time.sleep(self.random.random() * seconds)
            victims = ranks(command.pid)
            if victims and not command.ended():
                self.count["rank"] += kill(victims[self.random.choice(sorted(victims))])
        assert command.finish() == 0, command
        command.close()
        same(run, reference)

    def _turn(self):
        """The world size and the saves of the next run: all pairs in turn, since the two counts have no common
        divisor."""
        worlds = ANY_WORLDS if self.any_ranks else WORLDS
        return worlds[self.runs % len(worlds)], SAVES[self.runs % len(SAVES)]

    def _training(self, name, world, saves):
        """In a killed run each rank updates a share of the parameters, in the others every rank updates all."""
        shard = "none" if name.startswith("never") else "optimizer"
        return Training(self.folder, name, experiment=self.experiment, device_pool=pool(world[0]),
                        backend=f'"{world[1]}"', steps=STEPS, distributed__shard=f'"{shard}"', **saves)  # fmt: skip

    def _reference(self, world, saves):
        name = f"never_{world[0]}_{world[1]}_{SAVES.index(saves)}"
        if name not in self._references:
            run = self._training(name, world, saves)
            begun = time.monotonic()
            run.complete()
            self._references[name] = run.left(), time.monotonic() - begun
        return self._references[name]

    def _kill_once(self, run, delay, only_parents):
        """Starts the run, and kills one of its processes after `delay` seconds. Returns false if the run ended well."""
        saved_before = run.saved_steps()
        command = run.start(**self._ranks(run))
        time.sleep(delay)
        victims = {"parent": command.pid} if only_parents else self._processes(command)
        who = self.random.choice(sorted(victims))
        when = self._moment(run, command, saved_before)
        ended = command.ended()
        if not ended and not kill(victims[who]):
            who, ended = "nobody", command.finish() == 0
        died = time.monotonic()
        code = command.finish()
        until(lambda: not others(), "all processes have gone")
        if who == "parent" and not ended:
            self.gone.append(time.monotonic() - died)
        # The victim may be a rank that has finished all its work and is exiting, or a helper process.
        assert ended or code in (-9 if who == "parent" else 1, 0), f"{who} was killed {when}: {command}"
        command.close()
        if not ended:
            self.count[who if who in ("parent", "nobody") else who.split()[0]] += 1
            self.count[when] += 1
        return code != 0

    def _ranks(self, run):
        if not self.any_ranks or not run.begun():
            return {}
        ranks, backend = self.random.choice(ANY_WORLDS)
        return {"device_pool": pool(ranks), "backend": f'"{backend}"'}

    def _processes(self, command):
        of_ranks = {f"rank {rank}": pid for rank, pid in ranks(command.pid).items()}
        helpers = {f"helper {pid}": pid for pid in children(command.pid) if pid not in of_ranks.values()}
        return {"parent": command.pid, **of_ranks, **helpers}

    @staticmethod
    def _moment(run, command, saved_before):
        if not ranks(command.pid):
            return "before its ranks were there"
        if any(run.path.glob("checkpoints/.step-*.tmp")):
            return "while saving"
        if run.saved_steps() == saved_before:
            return "before its first save"
        return "after its last save" if run.last_step() == STEPS else "between two saves"

    def figures(self):
        counts = ", ".join(f"{n} {what}" for what, n in sorted(self.count.items()))
        text = f"{self.runs} runs; {counts}; seed {asked.seed}"
        if self.gone:
            text += f"; all ranks gone {max(self.gone) * 1000:.0f} ms after their parent at most"
        return text


def kill(pid):
    """Returns false if the process has gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def any_process(folder):
    """a run whose processes are killed at random moments ends with the bits, losses and files of a run that was never
    killed"""
    kills = Kills(folder, asked.seed)
    while sum(kills.count[who] for who in ("parent", "rank", "helper")) < asked.kills:
        kills.one_run()
    return kills.figures()


def parents(folder):
    """a parent that is killed takes all of its processes with it and frees the run's lock at once"""
    kills = Kills(folder, asked.seed + 1)
    while kills.count["parent"] < asked.parents:
        kills.one_run(only_parents=True)
    return kills.figures()


def ranks_of_one_command(folder):
    """a run with --max-restarts whose ranks are killed at random moments ends by itself with the bits, losses and files
    of a run that was never killed"""
    kills = Kills(folder, asked.seed + 2)
    while kills.count["rank"] < asked.restarts:
        kills.one_run_that_restarts()
    return kills.figures()


def forks(folder):
    """a fork whose processes are killed at random moments, also before its first save, ends with the bits, losses and
    files of a fork that was never killed"""
    kills = Kills(folder, asked.seed + 3)
    while sum(kills.count[who] for who in ("parent", "rank", "helper")) < asked.forks:
        kills.one_fork()
    return kills.figures()


def recipes(folder):
    """a run with a recipe (augmentation, groups, clipping, a loss scale, averaged weights, plateau, patience) whose
    processes are killed at random moments ends with the bits, losses, rules and files of a run that was never killed"""
    write_images(folder)
    kills = Kills(folder, asked.seed + 4, RECIPE)
    while sum(kills.count[who] for who in ("parent", "rank", "helper")) < asked.recipes:
        kills.one_run()
    return kills.figures()


def any_ranks(folder):
    """a run with logical ranks and a recipe whose processes are killed at random moments, and that goes on with a random
    number of ranks each time, ends with the bits, losses and rules of a run that was never killed"""
    write_images(folder)
    kills = Kills(folder, asked.seed + 5, "logical_ranks = 4\n" + RECIPE, any_ranks=True)
    while sum(kills.count[who] for who in ("parent", "rank", "helper")) < asked.any_ranks:
        kills.one_run()
    return kills.figures()


sys.exit(isolation.check([any_process, parents, ranks_of_one_command, forks, recipes, any_ranks], asked.only))
