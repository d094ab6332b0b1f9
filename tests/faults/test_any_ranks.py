"""With logical ranks a training has the same bits on every number of ranks, whatever it is made of."""

import os
import random
import subprocess
import sys

import isolation
from training import AUGMENTED_IMAGES, IMAGES, NET, Training, pool, same, write_images, write_npy

isolation.enter()
parser = isolation.arguments(__doc__)
parser.add_argument("--draws", type=int, default=6, help="trainings to draw")
asked = parser.parse_args()

COMMON = """
batch_size = 2
steps      = 6
threads    = 1
optimizer  = { name = "adamw", lr = 0.01 }
"""
MLP = """
dataset = { name = "random_pairs", size = 101, features = 6, targets = 2 }
model   = { name = "mlp", in_features = 6, hidden = [40], out_features = 2, dropout = 0.25 }
"""
GPT = """
dataset = { name = "text", path = ["text.txt"], block_size = 16, sampling = "random" }
model   = { name = "gpt", n_layer = 1, n_head = 2, n_embd = 16, dropout = 0.1 }
"""
# With PyTorch's Python: a ResNet-18 that it exports. Its batch norms need more than one sample.
RESNET = """
loader  = { drop_last_batch = true }
dataset = { name = "npy", inputs = "pictures.npy", targets = "classes.npy" }
model   = { name = "exported", path = "ResNet18.pt2" }
loss    = "cross_entropy"
"""
CLASSES = 'loss = "cross_entropy"\n'
MODELS = {"mlp": MLP, "gpt": GPT, "images": CLASSES + IMAGES + NET, "augmented images": CLASSES + AUGMENTED_IMAGES + NET}
PARTS = [
    {"precision": "fp16", "steps": 16},  # the loss scale starts too high
    {"precision": "bf16"},
    {"ema__decay": 0.9},
    {"clip__norm": 0.1},
    {"accumulate": 3},
    {"validation__split": 0.2},
    {"distributed__shard": "optimizer"},
    {"replay": "off"},
    {"on_nan": "skip"},
    {"optimizer": '{ name = "sgd", lr = 0.01, momentum = 0.9 }'},
]


def write_data(folder):
    write_images(folder)
    (folder / "text.txt").write_text("".join(chr(97 + (i * i + i // 7) % 23) for i in range(4000)))
    python = os.environ.get("DDP_PYTHON")
    if not python:
        return
    draw = random.Random(2)
    write_npy(folder / "pictures.npy", "f4", (40, 3, 32, 32), [draw.gauss(0, 1) for _ in range(40 * 3 * 32 * 32)])
    write_npy(folder / "classes.npy", "i8", (40,), [draw.randrange(4) for _ in range(40)])
    script = os.path.join(os.environ["DDP_SOURCE"], "tests/parity/exported_models.py")
    subprocess.run([python, script, folder, "ResNet18"], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"PYTHONPATH": os.environ.get("DDP_PYTHONPATH", "")})  # fmt: skip
    MODELS["exported ResNet-18"] = RESNET


class Drawn:
    def __init__(self, folder, number, draw):
        self.folder, self.number = folder, number
        self.model = draw.choice(sorted(MODELS))
        self.logical = draw.choice([1, 2, 4, 8])
        self.settings = {}
        for part in draw.sample(PARTS, draw.randrange(4)):
            self.settings |= part
        if self.model not in ("mlp", "gpt") and draw.random() < 0.5:
            self.settings["model__sync_batch_norm"] = "true"
        if self.model == "exported ResNet-18" and self.settings.get("precision") == "fp16":
            self.settings["precision"] = "bf16"  # CPUs take minutes for its convolutions in fp16

    def __str__(self):
        return f"{self.model}, {self.logical} logical ranks, {self.settings}"

    def train(self, ranks, backend):
        run = Training(self.folder, f"drawn{self.number}-{ranks}-{backend}", experiment=COMMON + MODELS[self.model],
                       logical_ranks=self.logical, device_pool=pool(ranks), backend=backend, **self.settings)  # fmt: skip
        run.complete()
        return run

    def check(self):
        reference = self.train(1, "shm").left()
        worlds = [(ranks, backend) for ranks in (1, 2, 4, 8) for backend in ("shm", "gloo") if self.logical % ranks == 0]
        for ranks, backend in worlds[1:]:
            same(self.train(ranks, backend), reference, but=("files",))
        return len(worlds)


def any_world(folder):
    """trainings drawn at random (models, images with MixUp, precision, averages, clipping, accumulation, shards,
    synchronised batch norms) have the same bits on 1, 2, 4 and 8 ranks, over shared memory and Gloo"""
    write_data(folder)
    draw = random.Random(asked.seed)
    drawn = [Drawn(folder, number, draw) for number in range(asked.draws)]
    return f"{asked.draws} trainings on {sum(one.check() for one in drawn)} worlds: one hash for each training"


sys.exit(isolation.check([any_world], asked.only))
