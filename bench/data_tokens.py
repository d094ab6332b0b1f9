"""Batches of 12 x 1024 tokens from random places of a mapped file, on one thread."""

import json

from data_sets import data_file, reply_of_peer, reply_of_program
from table import Table

BATCH, BLOCK = 12, 1024


def tables(small=False):
    size, seconds = (400_000, 0.1) if small else (1 << 30, 4)
    file = data_file("tokens", size, "train.bin")
    options = json.dumps({"name": "tokens", "path": file, "block_size": BLOCK, "sampling": "random"})

    def peer():
        return reply_of_peer("data_peer.py", "tokens", f"{BATCH},{BLOCK},{seconds}", file, 1)["rate"]

    def copied():
        return reply_of_program("copy", BATCH, BLOCK, seconds)["rate"]

    rows = {
        "ddp-exp": lambda: reply_of_program("tokens", options, BATCH, seconds)["rate"],
        "nanoGPT's get_batch": peer,
        "the limit: memcpy of what a batch takes": copied,
    }
    yield Table("data-tokens", f"tokens a second, {size / 1e9:.2g} GB of uint16, block 1024, batch 12", "more", rows)
