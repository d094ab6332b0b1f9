"""The isolation of this folder's tests:

    isolation.enter()
    sys.exit(isolation.check([a_promise, …]))

`enter` moves the test into its own namespaces: nobody else uses its processes, its network and its mounts. All that it
finds there is its own, and nothing that it starts outlives it. If the machine cannot provide this, the test is skipped.
"""

import argparse
import collections
import fcntl
import pathlib
import random
import shutil
import socket
import struct
import sys
import tempfile
import time
import traceback

sys.path.append(str(pathlib.Path(__file__).parent.parent))
from programs import isolate  # noqa: E402


def enter(*programs):
    """`programs`: the programs that the test needs besides unshare."""
    isolate(programs, [], ["true"])
    # Loopback is the only device of this network and is off at first: ioctl(SIOCSIFFLAGS) with IFF_UP.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))


class NotHere(Exception):
    """Something that a promise needs is missing on this machine."""


def arguments(about):
    """A parser of the test's arguments."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--only", default="", metavar="WORD", help="promises whose text holds this")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    return parser


def check(promises, only=""):
    """Checks each promise and returns the exit status of the process. A promise is a function of a fresh folder; its
    docstring states it, and it returns figures to print."""
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
    except Exception:  # the other promises are checked too
        verdict, told = "BROKEN", traceback.format_exc()
    shutil.rmtree(folder)
    title = " ".join(promise.__doc__.split("\n\n")[0].split())
    print(f"{verdict:8}{title} ({time.monotonic() - begun:.1f} s)", flush=True)
    if told:
        print(f"        {told}", flush=True)
    return verdict
