"""The file of `ddp-exp k8s` fits the schemas of Kubernetes' API, and keeps every text of the user."""

import os
import pathlib
import sys
import tempfile
import tomllib

import kubernetes_validate

sys.path.append(str(pathlib.Path(__file__).parent))
from job import Command, PROGRAM, documents, pod_of  # noqa: E402

VERSIONS = ("1.29", "1.31", "1.34", "1.37")  # backoffLimitPerIndex is on by default since 1.29
PAIR = 'model = "linear"\ndataset = "random_pairs"\n'


def check_api(all_documents):
    for document in all_documents:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


def documents_fit(folder):
    (folder / "pair.toml").write_text(PAIR)
    for words in ("", "--nodes 3 --nproc-per-node 2", "--nodes 2 --gpus-per-node 4 --elastic --set logical_ranks=8",
                  "--image a.b/c:1 --claim shared --port 7 --job-name mine"):  # fmt: skip
        check_api(documents(folder, "pair.toml", *words.split()))


def a_job_says_what_was_asked(folder):
    words = "--nodes 2 --gpus-per-node 4 --image a.b/c:1 --claim shared --job-name mine"
    settings = "--set grace=99.5 --set epochs=3 --name Other_1"
    config, service, job = documents(folder, "pair.toml", *words.split(), *settings.split())
    names = {document["metadata"]["name"] for document in (config, service, job)}
    assert names == {"mine"} and service["spec"]["selector"] == {"job-name": "mine"}, names
    spec, pod = job["spec"], pod_of(job)
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 2), spec
    (container,) = pod["containers"]
    assert pod["terminationGracePeriodSeconds"] == 130, pod
    assert pod["subdomain"] == "mine" and container["image"] == "a.b/c:1", pod
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 4}}, container
    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}} in pod["volumes"], pod
    assert {"name": "volume", "persistentVolumeClaim": {"claimName": "shared"}} in pod["volumes"], pod
    experiment = tomllib.loads(config["data"]["experiment.toml"])
    assert (experiment["name"], experiment["epochs"]) == ("Other_1", 3), experiment
    *_, job = documents(folder, "pair.toml", "--gpus-per-node", "0")
    assert "resources" not in pod_of(job)["containers"][0] and "--nnodes" not in pod_of(job)["containers"][0]["args"]


def odd_texts_are_kept(folder):
    odd = "it's: \"#\" - @name@ \t \\ü \u0085\u2028\ufeff\U0001f600 {x} yes"
    inner = folder / odd
    inner.mkdir()
    (inner / "2 Nodes.toml").write_text(PAIR + 'init_from = { path = "w.safetensors" }\n')
    (inner / "more.toml").write_text('extends = "2 Nodes.toml"\nepochs = 3\n[sweep.parameters]\nseed = [1, 2]\n')
    all_documents = documents(folder, f"{odd}/more.toml", "--results", "$(HOME) 'x'", "--name", "no")
    check_api(all_documents)
    config, _, job = all_documents
    experiment = tomllib.loads(config["data"]["experiment.toml"])
    assert experiment.keys() == {"model", "dataset", "init_from", "epochs", "name"}, experiment
    assert experiment["init_from"] == {"path": f"/srv/ddp-exp/{odd}/w.safetensors"}, experiment
    arguments = pod_of(job)["containers"][0]["args"]
    assert arguments[arguments.index("--results") + 1] == "/srv/ddp-exp/$$(HOME) 'x'", arguments
    assert job["metadata"]["name"] == "no", job["metadata"]


def names_are_labels(folder):
    for given, name in (("7_Days.of", "run-7-days-of"), ("-x-", "x"), ("a" * 100, "a" * 56)):
        if not given.startswith("-"):
            assert documents(folder, "pair.toml", "--name", given)[0]["metadata"]["name"] == name, given
    for given in ("Upper", "a_b", "7", "a" * 57, "-a", "a-"):
        done = Command([PROGRAM, "k8s", "pair.toml", f"--job-name={given}"], folder).finish()
        assert done.code == 2 and "--job-name" in done.err and done.out == "", done


def texts_that_cannot_be_printed_are_refused(folder):
    for option in ("--results", "--image", "--claim"):
        for text in ("a\nb", os.fsdecode(b"\xff")):
            done = Command([PROGRAM, "k8s", "pair.toml", option, text], folder).finish()
            assert done.code == 2 and f"{option}: has a control character" in done.err and done.out == "", done


def devices_that_contradict_are_refused(folder):
    done = Command([PROGRAM, "k8s", "pair.toml", "--gpus-per-node", "2", "--set", "device_pool=4"], folder).finish()
    assert done.code == 2 and "needs 4 GPUs on a node" in done.err and done.out == "", done


with tempfile.TemporaryDirectory() as scratch:
    checks = (documents_fit, a_job_says_what_was_asked, odd_texts_are_kept, names_are_labels,
              texts_that_cannot_be_printed_are_refused, devices_that_contradict_are_refused)  # fmt: skip
    for check in checks:
        check(pathlib.Path(scratch))
        print("works:", check.__name__.replace("_", " "))
