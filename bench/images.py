"""Images a second from files or memory to float batches: two worker threads, beside DataLoader with two workers."""

import functools
import glob
import json
import os

from data_sets import folder
from sides import run_peer, run_program
from table import Table

WORKERS = 2
NORMALIZE = {"type": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
PHOTOS = [{"type": "RandomResizedCrop", "size": 224}, {"type": "RandomHorizontalFlip"}, NORMALIZE]
SMALL = [{"type": "RandomCrop", "size": 32, "padding": 4}, {"type": "RandomHorizontalFlip"}, NORMALIZE]


@functools.cache
def images(kind, count):
    path = os.path.join(folder().name, f"{kind}-{count}")
    run_peer("image_files.py", kind, path, count)
    return path


def rate_of(reply):
    return json.loads(reply)["rate"]


def ddp_exp(name, path, transforms, batch_size, epochs):
    options = json.dumps({"name": name, "path": path, "transforms": transforms})
    return lambda: rate_of(run_program("bench_images", "loader", options, batch_size, WORKERS, epochs))


def peer(kind, path, batch_size, epochs):
    return lambda: rate_of(run_peer("images_peer.py", kind, path, batch_size, WORKERS, epochs))


def decoder(path):
    files = sorted(glob.glob(os.path.join(path, "*", "*.jpg")))
    return lambda: rate_of(run_program("bench_images", "decode", WORKERS, 1 if len(files) < 100 else 4, *files))


def tables(small=False):
    photos = images("photos", 40 if small else 1000)
    icons = images("icons", 100 if small else 10000)
    cifar = images("cifar", 500 if small else 50000)
    epochs = 1 if small else 2
    rows = {
        "ddp-exp": ddp_exp("image_folder", photos, PHOTOS, 64, epochs),
        "DataLoader, Pillow": peer("pil", photos, 64, epochs),
        "DataLoader, torchvision.io.decode_jpeg": peer("io", photos, 64, epochs),
        "the limit: the decoder alone, whole images": decoder(photos),
    }
    yield Table("images-photos", "images a second, JPEG 500x400 to 224x224, batches of 64", "more", rows)
    rows = {"ddp-exp": ddp_exp("image_folder", icons, SMALL, 64, epochs), "DataLoader": peer("icons", icons, 64, epochs)}
    yield Table("images-icons", "images a second, PNG 32x32, batches of 64", "more", rows)
    many = 1 if small else 10
    rows = {"ddp-exp": ddp_exp("cifar10", cifar, SMALL, 512, many), "DataLoader": peer("cifar", cifar, 512, 1)}
    yield Table("images-cifar", "images a second, CIFAR-10 from memory, batches of 512", "more", rows)
