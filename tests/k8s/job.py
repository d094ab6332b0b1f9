"""The documents that `ddp-exp k8s` prints."""

import json
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / name) for name in (".", "cluster")]
from commands import Command  # noqa: E402
from programs import PROGRAM  # noqa: E402


def documents(folder, *words):
    """The ConfigMap, the Service and the Job."""
    done = Command([PROGRAM, "k8s", *words], folder).finish()
    assert done.code == 0, done
    printed = json.loads(done.out)
    assert (printed["apiVersion"], printed["kind"]) == ("v1", "List"), printed
    return printed["items"]


def pod_of(job):
    return job["spec"]["template"]["spec"]
