"""The pods of `ddp-exp k8s` train, on two hosts: each with the command, the environment and the volumes that the file
gives it. The first one's name is known a moment after it starts."""

import json
import os
import pathlib
import re
import shlex
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
from job import PROGRAM, documents, pod_of  # noqa: E402

import cluster  # noqa: E402
from programs import children, sets, until  # noqa: E402
from runs import EXPERIMENT, Run, begun_run, finish, on_one_machine, same, write_experiment  # noqa: E402

cluster.isolate()
DOCKERFILE = pathlib.Path(os.environ["DDP_SOURCE"], "deploy/Dockerfile").read_text()
# An image's programs are in its PATH.
ENTRYPOINT = json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.M)[1])


class Pods:
    """The pods of a job, one on each host. What kubelet does: it mounts the volumes, and replaces variables in the
    arguments."""

    def __init__(self, c, *words):
        self.cluster, self.volume = c, c.folder / "volume"
        self.volume.mkdir(exist_ok=True)
        self.config, self.service, self.job = documents(c.folder, *words)
        self.pod = pod_of(self.job)
        (self.container,) = self.pod["containers"]

    def source_of(self, name):
        (volume,) = [volume for volume in self.pod["volumes"] if volume["name"] == name]
        if "configMap" in volume:
            assert volume["configMap"]["name"] == self.config["metadata"]["name"], volume
            folder = self.cluster.folder / "config"
            folder.mkdir(exist_ok=True)
            for file, text in self.config["data"].items():
                (folder / file).write_text(text)
            return folder
        return self.volume if "persistentVolumeClaim" in volume else None

    def start(self, index):
        lines = ["mount -t tmpfs none /srv"]
        for mount in self.container["volumeMounts"]:
            place, source = shlex.quote(mount["mountPath"]), self.source_of(mount["name"])
            what = f"--bind {source}" if source else "-t tmpfs none"
            lines += [f"mkdir -p {place}", f"mount {what} {place}"]
        script = " && ".join([*lines, f"cd {shlex.quote(self.container['workingDir'])}", 'exec "$@"'])
        arguments = [re.sub(r"\$\(JOB_COMPLETION_INDEX\)", str(index), word) for word in self.container["args"]]
        assert not any("$" in word for word in arguments), arguments
        apart = ["--mount"] if self.pod.get("shareProcessNamespace") else ["--mount", "--pid", "--fork", "--kill-child"]
        return self.cluster.hosts[index].start(
            "unshare", *apart, "sh", "-c", script, "pod", *ENTRYPOINT, *arguments,
            PATH=f"{PROGRAM.parent}:{os.environ['PATH']}", JOB_COMPLETION_INDEX=str(index))  # fmt: skip

    def stop(self, command):
        """The signal of a pod that is deleted, to its first process."""
        shared = self.pod.get("shareProcessNamespace")
        os.kill(command.pid if shared else children(command.pid)[0], signal.SIGTERM)

    def start_all(self):
        return [self.start(index) for index in range(self.job["spec"]["completions"])]

    def name_first(self, address):
        """The name of the first pod, as the Service gives it, leads to this address."""
        file = self.cluster.folder / "hosts"  # /etc/hosts of all hosts, whose inode has to stay
        name = f"{self.job['metadata']['name']}-0.{self.pod['subdomain']}"
        assert self.pod["subdomain"] == self.service["metadata"]["name"]
        others = [line for line in file.read_text().splitlines() if not line.endswith(name)]
        file.write_text("\n".join([*others, f"{address} {name}", ""]))

    def run(self, by=()):
        return begun_run(self.volume, by=by)


def written(c, *words, nodes=2):
    """The job of an experiment that reads a file of its folder, and the words for the same run on one machine."""
    first = on_one_machine(c.folder / "first")
    (c.folder / "weights").symlink_to(first.path / "checkpoints/latest")
    write_experiment(c.folder, EXPERIMENT + 'init_from = { path = "weights/model.safetensors" }\n')
    pods = Pods(c, "small.toml", "--nodes", f"{nodes}", "--nproc-per-node", "2", *words)
    (pods.volume / "weights").symlink_to(first.path / "checkpoints/latest")
    return pods, sets(init_from__path=f'"{c.folder}/weights/model.safetensors"')


def stop_and_go_on(c):
    """pods that get SIGTERM save and end with 143; made anew they train to the bits of an uninterrupted run"""
    pods, words = written(c, "--set", "epochs=1000000")
    nodes = pods.start_all()
    for node in nodes:
        node.until_said("waiting for")
    pods.name_first(c.hosts[0].address)
    run = pods.run(by=nodes)
    until(lambda: run.last_step() >= 12 or any(node.ended() for node in nodes), "step 12")
    for node in nodes:
        pods.stop(node)
    finish(nodes, code=143)
    assert run.summary()["status"] == "interrupted" and run.last_step() == run.saved_step(), run.summary()
    ignored = [rule["onExitCodes"]["values"] for rule in pods.job["spec"]["podFailurePolicy"]["rules"]
               if rule["action"] == "Ignore" and "onExitCodes" in rule]  # fmt: skip
    assert ignored == [[143]], ignored

    # From now on it may train to its end.
    epochs = run.saved_step() // 3 + 2
    for text in (run.path / "config.toml", pods.config["data"]):
        if isinstance(text, dict):
            text["experiment.toml"] = text["experiment.toml"].replace("epochs = 1000000", f"epochs = {epochs}")
        else:
            text.write_text(text.read_text().replace("epochs = 1000000", f"epochs = {epochs}"))
    finish(pods.start_all())
    assert run.path == pods.volume / "results/small/small", run.path
    same(run, on_one_machine(c.folder / "never", *words, *sets(epochs=epochs)))


def stale_name(c):
    """a first pod whose name still leads to the pod before waits for its own name"""
    pods, words = written(c)
    pods.name_first(c.hosts[1].address)
    node_0 = pods.start(0)
    node_0.until_said("small-0.small leads to 10.88.0.2, which is no address of this machine")
    pods.name_first(c.hosts[0].address)
    finish([node_0, pods.start(1)])
    same(pods.run(), on_one_machine(c.folder / "never", *words))


def stop_while_it_waits(c):
    """a pod that waits for the first one ends at SIGTERM"""
    pods, _ = written(c)
    node = pods.start(1)
    node.until_said("waiting for node 0")
    pods.stop(node)
    finish([node], code=-signal.SIGTERM)


def one_pod(c):
    """a job of one node needs no name"""
    pods, words = written(c, nodes=1)
    finish([pods.start(0)])
    same(pods.run(), on_one_machine(c.folder / "never", *words, ranks=2))


sys.exit(cluster.check([stop_and_go_on, stop_while_it_waits, stale_name, one_pod]))
