"""Models as their authors write them. python/export_model.py saves them, and PyTorch's Python trains the unchanged
classes.

    python exported_models.py folder name...    exports these, and saves the weights that each function draws after seed 0
"""

import os
import runpy
import sys

import safetensors.torch
import torch
from torch import nn

from architectures import ConvNextT, EfficientNetB0, MobileNetV3, ResNet18, SwinT, ViT  # noqa: F401
import hub_models
from gpt import Gpt
from loss_models import EXPORTS, LOSSES, Aided, Heads, Judge, Masked, Towers, Tuple, Vae  # noqa: F401
from normed_models import mixed, mobile, residual, series, volume  # noqa: F401


CAUSAL = {"GPT2LMHeadModel", "LlamaForCausalLM"}  # their own loss shifts the labels


class Cnn(nn.Module):
    def __init__(self, classes=10, dropout=0.2):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(4 * 3 * 3, classes)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.fc(self.dropout(nn.functional.max_pool2d(x, 2)).flatten(1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


class Branching(nn.Module):
    """Stochastic depth: evaluation takes another path through Python."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 20)
        self.head = nn.Linear(20, 4)

    def forward(self, x):
        y = self.inner(x)
        if self.training:
            y = y * torch.empty(x.shape[0], 1).bernoulli_(0.8) / 0.8
        return self.head(x + y)


class Dictionary(nn.Module):
    """As in the models of Hugging Face, the loss does not use the first output."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        hidden = torch.tanh(self.inner(x))
        return {"hidden": hidden, "logits": self.head(hidden)}


class Twice(nn.Module):
    """One batch norm that forward calls twice; .float() changes nothing but with autocast."""

    def __init__(self):
        super().__init__()
        self.inner, self.norm = nn.Linear(20, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(torch.relu(self.norm(self.inner(x)).float()))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x, mask):
        x = self.layer(x, src_key_padding_mask=mask == 0)
        weights = mask.unsqueeze(-1).float()
        return self.head((x * weights).sum(1) / weights.sum(1))


class Centered(nn.Module):
    """A part without gradient inside a part with one, and a buffer that training changes."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 16)
        self.head = nn.Linear(16, 4)
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x):
        hidden = self.inner(x)
        with torch.no_grad():
            center = hidden.mean(0)
            if self.training:
                self.mean.mul_(0.9).add_(0.1 * center)
        return self.head(torch.relu(hidden - self.mean))


class Spare(nn.Module):
    """A layer that nothing uses."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 16)
        self.spare = nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.inner(x)))


def gpt():
    return Gpt(n_layer=2, n_head=2, n_embd=32, block_size=16, vocab_size=61, dropout=0.1)


ARCHITECTURES = ["ResNet18", "MobileNetV3", "EfficientNetB0", "ConvNextT", "ViT", "SwinT"]

# The --input argument of export_model.py for each model.
INPUTS = {
    "Cnn": ["3x8x8"],
    "Lstm": ["5x6"],
    "Branching": ["20"],
    "Twice": ["20"],
    "Dictionary": ["20"],
    "Encoder": ["5x8", "5:int64:2"],
    "Centered": ["20"],
    "Spare": ["20"],
    "gpt": ["16:int64:61"],
    "series": ["6x10"],
    "volume": ["2x4x4x4"],
} | dict.fromkeys([*ARCHITECTURES, "residual", "mobile", "mixed"], ["3x32x32"])


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def load(path):
    """The model that was exported as <name>.pt2, with its first weights; draws nothing from the global generator."""
    with torch.random.fork_rng(devices=[]):
        model = make(name_of(path))
    model.load_state_dict(safetensors.torch.load_file(weights_beside(path)))
    return model


def make(name):
    """The model as its author makes it."""
    return globals()[name]() if name in globals() else hub_models.make(name)


def load_loss(path):
    """The loss that was exported as <name>.loss.pt2."""
    return LOSSES[os.path.basename(path).partition(".")[0]]()


def weights_beside(path):
    return os.path.splitext(path)[0] + ".safetensors"


def save_weights(folder, name):
    torch.manual_seed(0)
    tensors = {key: tensor.clone() for key, tensor in make(name).state_dict().items()}  # includes tied tensors
    safetensors.torch.save_file(tensors, os.path.join(folder, f"{name}.safetensors"))


def export(folder, name):
    """Calls the script like a user, but in this process: importing torch takes longer than an export."""
    script = os.path.join(os.environ["DDP_SOURCE"], "python", "export_model.py")
    here = os.path.abspath(__file__)
    file = os.path.join(folder, f"{name}.pt2")
    if name not in globals():
        model, *options = hub_models.command(name)
        sys.argv = [script, model, file, *options]
        return runpy.run_path(script, run_name="__main__")
    options = EXPORTS.get(name) or [word for text in INPUTS[name] for word in ("--input", text)]
    if "--loss" in options:
        place = options.index("--loss") + 1
        loss = f"{os.path.join(os.path.dirname(here), 'loss_models.py')}:{options[place]}"
        options = [*options[:place], loss, *options[place + 1 :]]
    sys.argv = [script, f"{here}:{name}", file, *options]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    where, *names = sys.argv[1:]
    for one in names:
        save_weights(where, one)
        export(where, one)
