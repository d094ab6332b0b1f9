"""Small Python models with unusual parts, for scripts/soak relations: each computes four numbers a sample.

    relations_models.py FOLDER    exports each as FOLDER/ARRAY/NAME.pt2, where ARRAY is the input that it takes
"""

import json
import pathlib
import runpy
import sys

import torch
from torch import nn
from torch.nn import functional as F

SCRIPT = str(pathlib.Path(__file__).resolve().parents[2] / "python/export_model.py")
INPUTS = {"rows": "12", "signal": "2x16", "image": "3x8x8", "tokens": "8:int64:11"}  # as --input describes them
OPTIONS = {
    "rows/own_loss": ["--loss-from-model", "--target", "4"],
    "rows/transposed": ["--loss", "torch.nn:SoftMarginLoss", "--target", "4"],
}


class Small(nn.Module):
    """Computes `width` features of its input with its parts, and a linear layer of them; with targets, a loss."""

    def __init__(self, width, features, **parts):
        super().__init__()
        self.features = features
        for name, part in parts.items():
            setattr(self, name, part)
        self.head = nn.Linear(width, 4)

    def forward(self, x, targets=None):
        y = self.head(self.features(self, x))
        return y if targets is None else {"loss": F.mse_loss(y, targets), "logits": y}


def track(m, x):
    m.mean.mul_(0.9).add_(x.detach().mean(0) * 0.1)
    return x - m.mean


def change_views(m, x):
    y = m.inner(x)
    y[x > 1] = 0.25
    y[:, :4].mul_(2)
    y[:, 1::3] += x[:, :4]
    y.view(-1, 3, 4).select(1, 1).sigmoid_()
    return y.masked_scatter(x < -1, x.type_as(y)).transpose(0, 1).clone().relu_().t()


def linear(outputs=12):
    return nn.Linear(12, outputs)


def drawn(*shape):
    return nn.Parameter(torch.randn(shape))


torch.manual_seed(0)
# Of each model: the number of its features, the function that computes them, and its parts.
MODELS = {
    "rows/own_loss": Small(12, lambda m, x: torch.tanh(m.inner(x)), inner=linear()),
    "rows/transposed": Small(4, lambda m, x: x @ m.w, w=nn.Parameter(torch.randn(4, 12).t())),
    "rows/strided": Small(6, lambda m, x: torch.relu(x @ m.w), w=nn.Parameter(torch.randn(12, 12)[:, ::2])),
    "rows/permuted": Small(6, lambda m, x: (x @ m.w).amax(0), w=nn.Parameter(torch.randn(2, 6, 12).mT)),
    "rows/weight_norm": Small(8, lambda m, x: m.inner(x).tanh(), inner=nn.utils.weight_norm(linear(8))),
    "rows/parametrized": Small(8, lambda m, x: m.inner(x), inner=nn.utils.parametrizations.weight_norm(linear(8))),
    "rows/tied": Small(12, lambda m, x: F.linear(torch.tanh(F.linear(x, m.w)), m.w.t()), w=drawn(5, 12)),
    "rows/thrice": Small(12, lambda m, x: m.a(torch.tanh(m.a(m.b(m.a(x))))), a=linear(), b=nn.RMSNorm(12)),
    "rows/empty": Small(4, lambda m, x: x @ torch.cat([m.none, m.some]), none=drawn(0, 4), some=drawn(12, 4)),
    "rows/tracked": Small(12, lambda m, x: track(m, x) if m.training else x - m.mean, mean=nn.Buffer(torch.zeros(12))),
    "rows/dropouts": Small(12, lambda m, x: m.c(m.b(m.a(m.inner(x))).unflatten(1, (3, 4))).flatten(1),
        inner=linear(), a=nn.Dropout(0.2), b=nn.AlphaDropout(0.1), c=nn.Dropout1d(0.2)),
    "rows/norms": Small(12, lambda m, x: m.b(m.a(x)), a=nn.BatchNorm1d(12), b=nn.GroupNorm(3, 12)),
    "rows/conjugate": Small(7, lambda m, x: torch.fft.rfft(x * m.w).conj().imag.neg(), w=drawn(12)),
    "rows/complex": Small(7, lambda m, x: (torch.fft.rfft(x) * torch.view_as_complex(m.w)).abs(), w=drawn(7, 2)),
    "rows/fft2": Small(12, lambda m, x: torch.fft.fft2(m.inner(x).view(-1, 3, 4)).real.flatten(1), inner=linear()),
    "rows/changed_views": Small(12, change_views, inner=linear()),
    "rows/indexed": Small(12, lambda m, x: m.inner(x).where(x > 0, -x).sort(1)[0][:, [3, *range(11)]], inner=linear()),
    "rows/reductions": Small(2, lambda m, x: torch.stack([m.inner(x).logsumexp(1), x.var(1)], 1), inner=linear()),
    "rows/scalars": Small(12, lambda m, x: m.w.sin() * x + m.w.expand(3, 4).reshape(12), w=drawn()),
    "rows/doubles": Small(12, lambda m, x: (x.double() * m.w).sin().float(), w=nn.Parameter(torch.randn(12).double())),
    "rows/halves": Small(12, lambda m, x: (x.bfloat16() * m.w).float(), w=nn.Parameter(torch.randn(12).bfloat16())),
    "rows/unused": Small(12, lambda m, x: torch.tanh(m.inner(x)), inner=linear(), w=drawn(3), second=linear()),
    "rows/products": Small(5, lambda m, x: (x.view(-1, 3, 4).transpose(0, 1) @ m.w).mean(0), w=drawn(3, 4, 5)),
    "rows/pairs": Small(5, lambda m, x: m.pairs(*x.split(6, 1)), pairs=nn.Bilinear(6, 6, 5)),
    "rows/activations": Small(12, lambda m, x: m.random(m.slope(F.glu(m.inner(x)))) + m.teacher(x).softmax(1),
        inner=linear(24), slope=nn.PReLU(), random=nn.RReLU(), teacher=linear().requires_grad_(False)),
    "rows/constants": Small(12, lambda m, x: m.inner(x * torch.arange(12)) @ torch.eye(12).mul_(2), inner=linear()),
    "signal/pooled": Small(16, lambda m, x: F.max_pool1d(x, 2).flatten(1)),
    "signal/convolved": Small(32, lambda m, x: F.max_pool1d(F.relu(m.norm(m.conv(x))), 2).flatten(1),
        conv=nn.Conv1d(2, 4, 3, padding=1, padding_mode="circular"), norm=nn.BatchNorm1d(4)),
    "signal/lstm": Small(6, lambda m, x: m.inner(x.transpose(1, 2))[0][:, -1],
        inner=nn.LSTM(2, 3, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)),
    "signal/gru": Small(5, lambda m, x: m.inner(x)[1][0], inner=nn.GRU(16, 5, batch_first=True)),
    "image/last_channels": Small(16, lambda m, x: F.adaptive_avg_pool2d(F.relu(m.norm(m.conv(x))), 2).flatten(1),
        conv=nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), norm=nn.GroupNorm(2, 4)),
    "image/shuffled": Small(64, lambda m, x: F.pixel_shuffle(m.drop(m.norm(m.conv(F.max_pool2d(x, 2)))), 2).flatten(1),
        conv=nn.ConvTranspose2d(3, 4, 1), norm=nn.InstanceNorm2d(4, affine=True), drop=nn.Dropout2d(0.2)),
    "tokens/embedded": Small(5, lambda m, x: m.bag(x), bag=nn.EmbeddingBag(11, 5, mode="mean", padding_idx=0)),
    "tokens/transformer": Small(8, lambda m, x: m.inner(m.table(x), src_key_padding_mask=x == 0).mean(1),
        table=nn.Embedding(11, 8), inner=nn.TransformerEncoderLayer(8, 2, 12, 0.1, batch_first=True)),
}  # fmt: skip


def make(name):
    return MODELS[name]


if __name__ == "__main__":
    folder = sys.argv[1]
    for name in MODELS:
        array = name.partition("/")[0]
        pathlib.Path(folder, array).mkdir(parents=True, exist_ok=True)
        options = ["--args", json.dumps({"name": name}), "--input", INPUTS[array], *OPTIONS.get(name, [])]
        sys.argv = [SCRIPT, f"{__file__}:make", f"{folder}/{name}.pt2", *options]
        runpy.run_path(SCRIPT, run_name="__main__")  # in this process: importing torch takes longer than an export
