"""Where the tests of this folder run: alone.

    isolation.enter()
    sys.exit(isolation.check([a_promise, …]))

`enter` moves the test into namespaces of its own: its processes, its network and its mounts are nobody else's, so that
all it sees there it has made, and nothing that it starts outlives it. Where that cannot be had, the test is skipped.
"""

import argparse
import collections
import fcntl
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

_ISOLATION = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def enter(*programs):
    """`programs`: what the test needs beside unshare."""
    for program in ("unshare", *programs):
        if shutil.which(program) is None:
            skip(f"there is no {program} on this machine")
    if os.environ.get("DDP_TEST_ISOLATED") == "yes":
        return _switch_loopback_on()
    if os.geteuid() != 0:
        skip("namespaces take root")
    tried = subprocess.run([*_ISOLATION, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        skip(f"this machine gives no namespaces: {tried.stderr.strip()}")
    os.environ["DDP_TEST_ISOLATED"] = "yes"
    os.execvp("unshare", [*_ISOLATION, sys.executable, "-B", *sys.argv])


def _switch_loopback_on():
    """It is all that this network has, and is off at first: ioctl(SIOCSIFFLAGS) with IFF_UP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class NotHere(Exception):
    """What a promise needs is not on this machine."""


def arguments(about):
    """A parser of the test's arguments."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--only", default="", metavar="WORD", help="promises whose text holds this")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    return parser


def check(promises, only=""):
    """Tries each promise, a function of a fresh folder whose first line of documentation says it; what it returns are
    figures. The process's exit status."""
    promises = [promise for promise in promises if only in " ".join(promise.__doc__.split())]
    found = collections.Counter(_try(promise) for promise in promises)
    skipped = f", {found['skipped']} skipped" if found["skipped"] else ""
    print(f"{found['kept']} of {len(promises)} promises are kept{skipped}")
    return 1 if found["BROKEN"] or not promises else 0 if found["kept"] else 77


def _try(promise):
    begun = time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ddp-exp-faults-"))
    try:
        verdict, told = "kept", promise(folder)
    except NotHere as why:
        verdict, told = "skipped", why
    except Exception:  # the other promises still have something to say
        verdict, told = "BROKEN", traceback.format_exc()
    shutil.rmtree(folder)
    title = " ".join(promise.__doc__.split("\n\n")[0].split())
    print(f"{verdict:8}{title} ({time.monotonic() - begun:.1f} s)", flush=True)
    if told:
        print(f"        {told}", flush=True)
    return verdict
