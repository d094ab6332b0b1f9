"""A Slurm of two nodes for one test: two hosts on a switch (tests/cluster), a slurmd on each, slurmctld on the first.

    with Slurm() as slurm:
        slurm.run(["srun", "-N2", "hostname"])

All of it runs in the test's own namespaces: nothing outlives the test, and two tests never interfere. Commands run on
host1, in slurm.folder, which is removed at the end. If a machine cannot run a Slurm, the test is skipped.
"""

import contextlib
import os
import pathlib
import stat
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "cluster"))
from cluster import Cluster, isolate  # noqa: E402
from programs import PATIENCE, PROGRAM, children, until  # noqa: E402

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "sinfo", "scancel", "squeue")
GOING_ON = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED")

# cred_expire: the delay before a requeued job starts again.
SETTINGS = """
ClusterName=test
SlurmctldHost=host1
SlurmUser=root
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
MailProg=/bin/true
MpiDefault=none
ReturnToService=2
SlurmdTimeout=60
KillWait=30
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
GresTypes=gpu
NodeName=host[1-2] CPUs=4 RealMemory=1000 Gres=gpu:2
PartitionName=gpu Nodes=host[1-2] Default=YES MaxTime=INFINITE State=UP
"""

os.environ["PATH"] += ":/usr/sbin"  # Debian's place of the daemons


class Slurm:
    def __init__(self):
        isolate(*PROGRAMS)
        self.hosts = Cluster(hosts=2)
        self.folder = self.hosts.folder / "shared"
        (self.folder / "state").mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(SETTINGS.format(folder=self.folder))
        # Slurm counts GPUs by their device files.
        for number in (0, 1):
            os.mknod(self.folder / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-1]\n")
        self.environment = {
            "SLURM_CONF": f"{self.folder}/slurm.conf",
            "CUDA_VISIBLE_DEVICES": "-1",
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        }

    def __enter__(self):
        try:
            first, second = self.hosts.hosts
            self.daemons = [self.start("slurmctld", "-D", "-c")]
            self.daemons += [self.start("slurmd", "-D", host=host) for host in (first, second)]
            idle = lambda: self.call("sinfo", "-h", "-o", "%D %t").out == "2 idle\n"  # noqa: E731
            self.wait_for(idle, "two idle nodes")
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print(self.logs(), flush=True)
        self.call("scontrol", "shutdown")
        try:
            until(lambda: not self.processes(), "all that Slurm has started ends")
        finally:
            self.hosts.__exit__()

    def processes(self):
        """{pid: command line} of all processes of this Slurm."""
        mark = f"SLURM_CONF={self.folder}/".encode()
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # the process has ended
                if mark in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def ranks_on(self, node):
        """The processes of ddp-exp's ranks: processes that a ddp-exp has forked."""
        programs = [pid for pid, command in self.processes().items() if command.startswith(f"{PROGRAM} ")]
        here = f"SLURMD_NODENAME={node}".encode()
        ranks = []
        for pid in programs:
            with contextlib.suppress(OSError):
                if here in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    ranks += children(pid)
        return sorted(set(ranks) & set(programs))

    def logs(self):
        """The last lines of the daemons' logs and the jobs' outputs."""
        text = ""
        for file in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("slurm-*.out")):
            lines = file.read_text(errors="replace").splitlines()
            text += f"--- {file.name}\n" + "".join(f"{line}\n" for line in lines[-60:])
        return text

    def start(self, *words, host=None):
        """Starts a command on `host`, by default on host1."""
        return (host or self.hosts.hosts[0]).start(*words, folder=self.folder, **self.environment)

    def call(self, *words):
        """Runs a command until it ends, with any exit code."""
        return self.start(*words).finish()

    def run(self, words, code=0):
        """Runs a command, which must exit with `code`; returns its stdout."""
        ended = self.call(*words)
        assert ended.code == code, f"{words}: {ended}"
        return ended.out

    def wait_for(self, fact, what):
        """Waits until `fact()` is true, and returns its value; at most as long as Slurm runs."""

        def now():
            assert not any(daemon.ended() for daemon in self.daemons), f"Slurm ended before {what}"
            return fact()

        return until(now, what, PATIENCE)

    def job(self, number):
        """Slurm's description of a job: {"JobState": "RUNNING", "Restarts": "0", …}."""
        words = self.run(["scontrol", "show", "job", "-o", number]).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def output(self, number):
        """The output of a job so far."""
        file = self.folder / f"slurm-{number}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def wait_for_end(self, number):
        """The state in which a job ended."""

        def end():
            state = self.job(number)["JobState"]
            return state not in GOING_ON and state

        return self.wait_for(end, f"the end of job {number}")
