"""Machines for tests: network namespaces, each with a name and an address, on one switch.

    cluster.isolate()
    sys.exit(cluster.check([a_promise, …]))

`isolate` moves the test into its own namespaces: nothing that it starts outlives it, even if it is killed, and two
tests never interfere. If the machine cannot provide this, the test is skipped.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

from commands import Command
from programs import isolate as isolate_with
from slow_cable import SlowCable


def isolate(*needed):
    """`needed`: the programs that the test needs besides ip."""
    isolate_with(("ip", *needed), ["--uts"], ["ip", "link", "set", "lo", "up"])


class Host:
    """A machine with its own network, its own name and its own working folder. It shares files with the other machines;
    a test that does not want this uses only the folders."""

    def __init__(self, number, folder):
        self.name, self.address = f"host{number}", f"10.88.0.{number}"
        self.folder = folder / self.name
        self.folder.mkdir()
        self._port = f"port{number}"
        self._commands = []
        self._slow_cable = None
        # A namespace lives as long as one of its processes.
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "sh", "-c", f"hostname {self.name} && echo && exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)  # fmt: skip
        self._holder.stdout.readline()
        ip("link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", self._holder.pid)
        ip("link", "set", self._port, "master", "switch", "up")
        self.call("ip", "link", "set", "lo", "up")
        self.call("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.call("ip", "link", "set", "eth0", "up")

    def start(self, *words, folder=None, **environment):
        inside = ["nsenter", "--target", self._holder.pid, "--net", "--uts", "--", *words]
        self._commands.append(Command(inside, folder or self.folder, environment))
        return self._commands[-1]

    def call(self, *words):
        """Runs a command that must succeed, and returns its output."""
        ended = self.start(*words).finish()
        assert ended.code == 0, f"{words}: {ended}"
        return ended.out

    def listens_on(self):
        """The addresses of all listening sockets of the host."""
        return {line.split()[-2] for line in self.call("ss", "-H", "-l", "-n", "-t", "-u", "-w").splitlines()}

    def cut_cable(self):
        ip("link", "set", self._port, "down")

    def mend_cable(self):
        ip("link", "set", self._port, "up")

    def use_slow_cable(self):
        """Sends the host's frames through a SlowCable from now on, and returns it. Needs /dev/net/tun."""
        inside, outside = f"slow{self.name}", f"slow{self._port}"
        self._slow_cable = SlowCable(inside, outside)
        ip("link", "set", outside, "master", "switch", "up")
        ip("link", "set", inside, "netns", self._holder.pid)
        self.call("ip", "link", "set", "eth0", "down")
        self.call("ip", "addr", "del", f"{self.address}/24", "dev", "eth0")
        self.call("ip", "addr", "add", f"{self.address}/24", "dev", inside)
        self.call("ip", "link", "set", inside, "up")
        return self._slow_cable

    def lose_packets(self, percent):
        """Drops this percentage of incoming packets. Needs nft."""
        self.call("nft", "add table inet loss; add chain inet loss in { type filter hook input priority 0; };"
                  f" add rule inet loss in iif eth0 numgen random mod 100 < {percent} counter drop")  # fmt: skip

    def packets_lost(self):
        words = self.call("nft", "list chain inet loss in").split()
        return int(words[words.index("packets") + 1])

    def lose_no_packets(self):
        self.call("nft", "delete table inet loss")

    def end(self):
        for command in self._commands:
            command.end()
        if self._slow_cable:
            self._slow_cable.end()
        ip("link", "del", self._port)
        self._holder.kill()
        self._holder.wait()


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Cluster:
    """Hosts on one switch. The test itself runs on none of them but on its own machine, which has only loopback."""

    def __init__(self, hosts):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ddp-exp-cluster-"))
        ip("link", "set", "lo", "up")
        ip("link", "add", "switch", "type", "bridge")
        ip("link", "set", "switch", "up")
        self.hosts = [Host(number, self.folder) for number in range(1, hosts + 1)]
        names = "".join(f"{host.address} {host.name}\n" for host in self.hosts)
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + names)
        subprocess.run(["mount", "--bind", self.folder / "hosts", "/etc/hosts"], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.end()
        ip("link", "del", "switch")
        subprocess.run(["umount", "/etc/hosts"], check=True)
        shutil.rmtree(self.folder)


def check(promises, hosts=2):
    """Checks each promise and returns the exit status of the process. A promise is a function of a fresh cluster; the
    first line of its docstring states it. Command-line arguments select the promises that contain one of these
    words."""
    chosen = [p for p in promises if not sys.argv[1:] or any(word in p.__doc__ for word in sys.argv[1:])]
    broken = 0
    for promise in chosen:
        begun = time.monotonic()
        error = ""
        with Cluster(hosts) as cluster:
            try:
                promise(cluster)
            except Exception:  # the other promises are checked too
                error = traceback.format_exc()
        broken += bool(error)
        title = promise.__doc__.partition("\n")[0]
        print(f"{'BROKEN' if error else 'kept':8}{title} ({time.monotonic() - begun:.1f} s)", flush=True)
        print(error, end="", flush=True)
    print(f"{len(chosen) - broken} of {len(chosen)} promises are kept")
    return 1 if broken or not chosen else 0
