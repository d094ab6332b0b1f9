"""Models that python/export_model.py refuses, and files of torch.export that ddp-exp refuses: both say why, and where.

One process with torch serves all cases of each side, because the import takes seconds.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest.mock

sys.path.insert(0, os.path.join(os.environ["DDP_SOURCE"], "python"))

import numpy as np
import torch

import export_model

MODELS = '''
import collections
import random
import time

import numpy
import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.fc = nn.Linear(4, classes)

    def forward(self, x):
        return self.fc(x)


class Cond(Plain):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (self.fc(x),))


class Branches(Plain):
    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else x


class Fixed(Plain):
    def forward(self, x):
        return self.fc(x.reshape(4, 4))


@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@twice.register_fake
def _(x):
    return torch.empty_like(x)


twice.register_autograd(lambda ctx, gradient: 2 * gradient)


class Custom(Plain):
    def forward(self, x):
        return twice(self.fc(x))


class Dictionary(Plain):
    def forward(self, x):
        return {"scores": self.fc(x), "inputs": x}


class Mean(Plain):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return self.fc(x - self.mean)


class Depth(Plain):
    def forward(self, x):
        return self.fc(x * torch.rand(x.shape[0], 1) if self.training else x)


class Constant(Plain):
    def forward(self, x):
        return self.fc(x.view(4, 4))


class Numpy(Plain):
    def forward(self, x):
        return self.fc(torch.from_numpy(x.numpy()))


class Tokens(Plain):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(5, 4)

    def forward(self, x):
        return self.fc(self.embed(x))


class Drops(Plain):
    def forward(self, x):
        return self.fc(nn.functional.dropout(x, 0.5))


class Into(Plain):
    def forward(self, x):
        return self.fc(torch.exp(x, out=torch.zeros_like(x)))


class Frozen(Plain):
    def __init__(self):
        super().__init__()
        self.requires_grad_(False)


class Eigenvalues(Plain):
    def forward(self, x):
        return self.fc(x) + torch.linalg.eigvals(x @ x.T).real.sum()


class DynamicCache:
    pass


class Cache(Plain):
    def forward(self, x):
        return self.fc(x), DynamicCache()


class Words(Plain):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)

    def forward(self, words, mask=None):
        words = words[:, :6] if words.shape[1] > 6 else words
        return self.fc(self.embed(words).mean(1))


class Memory(Plain):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 2, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x, mask):
        _, (hn, _) = self.lstm(x * mask)
        return self.fc(torch.cat((hn[-2], hn[-1]), dim=1))


class NoParameters(nn.Module):
    def forward(self, x):
        return x[:, :3]


class Synchronised(Plain):
    def __init__(self):
        super().__init__()
        self.norm = nn.SyncBatchNorm(3)

    def forward(self, x):
        return self.norm(self.fc(x))


class Sparse(Plain):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4, sparse=True)

    def forward(self, x):
        return self.fc(self.embed(x))


def number():
    return 3


class Reverse(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.view_as(x))
    backward = staticmethod(lambda ctx, gradient: -gradient)


class Twice(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: 2 * x)
    backward = staticmethod(lambda ctx, gradient: 2 * gradient)


class Clip(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.view_as(x))
    backward = staticmethod(lambda ctx, gradient: gradient.clamp(-1e-3, 1e-3))


class Rounded(torch.autograd.Function):
    forward = staticmethod(lambda x: x.round())
    setup_context = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    backward = staticmethod(lambda ctx, gradient: gradient * (ctx.saved_tensors[0].abs() < 1))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        y = x.exp()
        product = y * y
        y.mul_(2)
        return product

    backward = staticmethod(lambda ctx, gradient: (gradient, gradient))


def mean(output):
    return output.mean()


def clipped_mean(output):
    return Clip.apply(output).mean()


def counts(model, x):
    model.steps += 1
    return model.fc(x)


def recurs(model, x):
    model.state = (model.fc(x) + model.state).detach().mean(0)
    return model.fc(x) + model.state


def prepares(model, x):
    y = model.fc(x) if model.ready else model.fc(x) - model.fc(x).mean(0)
    model.ready = True
    return y


def draws_of_numpy(model, x):
    scale = numpy.random.rand()
    return model.fc(x) * scale


def keeps(model, x):
    model.table = torch.arange(4.0) if model.table is None else model.table
    model.last = model.fc(x + model.table)
    return model.last


def reverses_by_detach(model, x):
    y = model.fc(x)
    return y.detach() - (y - y.detach())


def packs(model, x, lengths):
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    return model.rnn(packed)[1][-1]


Outputs = collections.namedtuple("Outputs", "logits further")
KINDS = {
    "reverses": lambda model, x: Reverse.apply(model.fc(x)),
    "rounds": lambda model, x: Rounded.apply(model.fc(x)),
    "clips": lambda model, x: Clip.apply(model.fc(x)),
    "squares": lambda model, x: Square.apply(model.fc(x), model.fc.bias),
    "checkpoints": lambda model, x: model.fc(torch.utils.checkpoint.checkpoint(lambda y: 2 * y, x, use_reentrant=True)),
    "doubles": lambda model, x: Twice.apply(model.fc(x)),
    "logs": lambda model, x: model.inner.log.append("called") or model.inner(x),
    "draws": lambda model, x: model.fc(x) * random.uniform(0, 1),
    "times": lambda model, x: model.fc(x) * (time.time() % 1000),
    "times_in_evaluation": lambda model, x: model.fc(x) if model.training else model.fc(x) * (time.time() % 1000),
    "fails_in_evaluation": lambda model, x: model.fc(x) if model.training else model.missing(x),
    "measures": lambda model, x: torch.cdist(x, model.fc.weight),
    "gru": lambda model, x: model.rnn(x)[0][:, -1],
    "returns_nothing": lambda model, x: None,
    "writes_into_input": lambda model, x: model.fc(x.mul_(2)),
    "views": lambda model, x: (model.fc(x), model.fc.weight[:2]),
    "names": lambda model, x: Outputs(model.fc(x), None) if model.training else model.fc(x),
    "largest": lambda model, x: model.fc(x).max(1),
    "root": lambda model, x: model.fc(x).sqrt(),
    "noise": lambda model, x: model.fc(x + torch.randn_like(x)),
} | {one.__name__: one for one in (counts, recurs, prepares, draws_of_numpy, keeps, reverses_by_detach, packs)}


class Odd(Plain):
    """Many models in one class."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.steps, self.state, self.ready, self.table = kind, 0, 0, False, None
        self.inner, self.rnn = Plain(), nn.GRU(4, 3, batch_first=True)
        self.inner.log = []
        if kind == "cumulative":
            self.norm = nn.BatchNorm1d(3, momentum=None)
        elif kind == "batch_norm":
            self.fc = nn.Sequential(self.fc, nn.BatchNorm1d(3))
        elif kind == "spectral_norm":
            self.fc = nn.utils.parametrizations.spectral_norm(self.fc)
        elif kind == "weight_norm":  # the old one, whose modules cannot be copied
            self.fc = nn.utils.weight_norm(self.fc)

    def forward(self, *inputs):
        return KINDS[self.kind](self, *inputs) if self.kind in KINDS else self.fc(*inputs)
'''
# A kind of Odd, what follows --input, and what the refusal says.
REFUSED = [
    ("clips", "4", ['the gradient of "fc.weight" differs', "autograd.Function Clip", "models.py", "detach()"]),
    ("squares", "4", ["cannot be trained", "inplace operation", "autograd.Function Square", "models.py"]),
    ("fc", "4 --loss models.py:clipped_mean", ["does not train as the model does", "autograd.Function Clip"]),
    ("checkpoints", "4", ['the gradient of "fc.weight" differs', "use_reentrant=True"]),
    ("counts", "4", ["changes the attribute steps,", "register_buffer"]),
    ("logs", "4", ["changes the attribute inner.log.1,"]),
    ("recurs", "4", ["changes the attribute state,"]),
    ("prepares", "4", ["changes the attribute ready,"]),
    ("draws", "4", ["draws from Python's or NumPy's generator", "models.py", "random.uniform(0, 1)"]),
    ("draws_of_numpy", "4", ["draws from Python's or NumPy's generator", "models.py", ": scale = numpy.random.rand()"]),
    ("times", "4", ['"output" differs in two runs', "models.py", "time.time()"]),
    ("times_in_evaluation", "4", ["computes in evaluation", '"output" differs', "models.py", "time.time()"]),
    ("fails_in_evaluation", "4", ["the model fails in evaluation: AttributeError", "models.py", "model.missing"]),
    ("cumulative", "4", ["momentum=None: norm\n", "such as 0.1"]),
    ("spectral_norm", "4", ["aten.div.out", "leave out torch's spectral_norm", "models.py", "self.fc"]),
    ("measures", "4", ['compute_mode="donot_use_mm_for_euclid_dist"', "models.py", "torch.cdist(x, model.fc.weight)"]),
    ("packs", "5x4 --input scalar:int64:5", ["pack_padded_sequence cannot be exported", "models.py", "packed = nn"]),
    ("returns_nothing", "4", ["forward returns a NoneType without tensors"]),
]
# A kind of Odd, and what export_model.py says to stderr.
ACCEPTED = {
    "doubles": "note: the model calls the torch.autograd.Function Twice",
    "reverses": "note: the model calls the torch.autograd.Function Reverse",
    "rounds": "note: the model calls the torch.autograd.Function Rounded",
    "noise": "note: the model draws random numbers even in evaluation (randn_like)",
    "root": 'the output "output" is not a number on random inputs',
    "weight_norm": "deprecated",
    **dict.fromkeys(["reverses_by_detach", "keeps", "writes_into_input", "views", "names", "largest", "gru", "batch_norm"], ""),
}
TOML = """
model = { name = "exported", path = "net.pt2" }
dataset = { name = "npy", inputs = "x.npy", targets = "y.npy" }
loss = "cross_entropy"
device_pool = ["cpu"]
batch_size = 4
threads = 1
"""


def export(*arguments):
    """(exit status and stderr, stdout) of export_model.py."""
    said, warned = io.StringIO(), io.StringIO()
    sys.argv = ["export_model.py", *arguments]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(warned):
            export_model.main()
    except SystemExit as end:
        return str(end.code) + warned.getvalue(), said.getvalue()
    return "0" + warned.getvalue(), said.getvalue()


def write_half(path, **_):
    """Writes the first of two files, and half of the second."""
    path.write_bytes(b"PK")
    if "loss" in path.name:
        raise ValueError("half")


def check_export_refusals():
    cases = [
        ("models.py:Cond", "4", [], ["control flow depends on its data", "models.py", "torch.cond(x.sum() > 0"]),
        ("models.py:Branches", "4", [], ["torch.export cannot save the model", "choose with torch.where", "models.py"]),
        ("models.py:Fixed", "4", [], ["batch"]),
        ("models.py:Custom", "4", [], ["custom operator mine.twice", "models.py", "twice(self.fc(x))"]),
        ("models.py:Plain", "5", [], ["error:", "--input and --target give their shapes", "models.py"]),
        ("models.py:Plain", "4", ["--args", '{"class": 3}'], ["cannot be called with", "--args"]),
        ("models.py:Plain", "4", ["--args", "{classes: 3}"], ["error: --args", "must be a JSON object"]),
        ("models.py:Constant", "4", [], ["only one batch size", "models.py", "x.view(4, 4)"]),
        ("models.py:Numpy", "4", [], ["torch.export cannot save the model", "models.py", "x.numpy()"]),
        ("models.py:Tokens", "6:int64:9", [], ["numbers of values", "models.py", "self.embed(x)"]),
        ("models.py:Drops", "4", [], ["drops values even in evaluation", "models.py", "dropout(x, 0.5)"]),
        ("models.py:Into", "4", [], ["calls aten.exp.out, which ddp-exp does not allow", "models.py", "out="]),
        ("models.py:Other", "4", [], ["has no Other"]),
        ("models.py:Frozen", "4", [], ["requires_grad = False in every parameter"]),
        ("models.py:NoParameters", "4", [], ["the model has no parameters"]),
        ("models.py:Synchronised", "4", [], ["sync_batch_norm = true in [model]: norm\n", "leave out convert_sync_batchnorm"]),
        ("models.py:Sparse", "6:int64:5", [], ["leave out sparse=True", "models.py", "self.embed(x)"]),
        ("models.py:Plain", "4", ["--max-batch", "1"], ["--max-batch 1: give more than --min-batch, 1"]),
        ("models.py:Plain", "4", ["--min-batch", "8", "--max-batch", "8"], ["--max-batch 8: give more"]),
        ("models.py:Plain", "4", ["--min-batch", "0"], ["--min-batch 0: a batch has 1 sample or more"]),
        ("models.py:Plain", "4", ["--batch", "1"], ["--batch 1: the batch that tests the model must have 2 to 65536"]),
        ("models.py:Plain", "4", ["--batch", "9", "--max-batch", "8"], ["--batch 9", "must have 2 to 8 samples"]),
        ("models.py:Eigenvalues", "4", [], ["calls linalg_eigvals, which ddp-exp does not allow", "models.py"]),
        ("models.py:Cache", "4", [], ["torch.export cannot save the model", "use_cache=False"]),
        ("models.py:Words", "1-9:int64:5", [], ["the model fixes or compares a size", "models.py", "words[:, :6]"]),
        ("models.py:Words", "words=6:int64:5", ["--input", "6"], ["--input 6: it needs the name that forward gives it"]),
        ("models.py:Plain", "4", ["--config", "{}"], ["--config is for models of transformers, and models.py:Plain is none"]),
        ("models.py:number", "4", [], ["gives a int, not a torch.nn.Module"]),
        ("nothing.py:Plain", "4", [], ["nothing.py does not exist"]),
        ("no_such_module:Plain", "4", [], ["no_such_module cannot be imported"]),
        ("broken.py:Plain", "4", [], ["broken cannot be imported: SyntaxError", "(broken.py, line 1)"]),
        ("Plain", "4", [], ["must be module:Class or file.py:Class"]),
        ("models.py:Plain", "4xx", [], ['"4xx" is not a shape']),
        ("models.py:Plain", "4:text", [], ['"text" is not a number type']),
        ("models.py:Plain", "4:int64", [], ["give the number of values"]),
    ]
    for kind, inputs, expected in REFUSED:
        shape, *more = inputs.split()
        cases.append(("models.py:Odd", shape, ["--args", json.dumps({"kind": kind}), *more], expected))
    for model, shape, more, expected in cases:
        status, _ = export(model, "refused.pt2", "--input", shape, *more)
        for text in expected:
            assert text in status, f"{model} {shape}: {status}"
        assert not os.path.exists("refused.pt2"), model
    status, said = export("models.py:Memory", "memory.pt2", "--input", "1-7x2", "--input", "mask=1-7x1")
    assert status == "0" and "memory.pt2" in said, status + said
    for kind, expected in ACCEPTED.items():
        shape = "5x4" if kind == "gru" else "4"
        status, said = export("models.py:Odd", f"{kind}.pt2", "--input", shape, "--args", json.dumps({"kind": kind}))
        assert status[0] == "0" and bool(status[1:]) == bool(expected) and expected in status, f"{kind}: {status}"
        assert f'path = "{kind}.pt2"' in said, f"{kind}: {said}"
        torch.manual_seed(0)
        weights, saved = sys.modules["models"].Odd(kind).state_dict(), torch.export.load(f"{kind}.pt2").state_dict
        assert all(torch.equal(saved[name], one) for name, one in weights.items()), f"{kind}: the file has other weights"
    before = os.listdir()
    with unittest.mock.patch.object(export_model, "package_pt2", write_half):
        status, _ = export("models.py:Plain", "half.pt2", "--input", "4", "--loss", "models.py:mean")
    assert "torch.export cannot write the graph: ValueError: half" in status and os.listdir() == before, status
    status, _ = export("models.py:Plain", "refused.zip", "--input", "4")
    assert "must end in .pt2" in status, status
    status, _ = export("models.py:Plain", "none/refused.pt2", "--input", "4")
    assert "the folder none does not exist" in status, status
    print(f"export_model.py refuses {len(cases) + 1} models and accepts {len(ACCEPTED)}")


def refused(*more):
    command = [os.environ["DDP_EXP"], "run", "t.toml", *more]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2, f"{command}: {done.returncode}\n{done.stderr}"
    return done.stderr


def save(name, batch=True):
    """A model saved by a user who does not know export_model.py."""
    import models

    dynamic = ({0: torch.export.Dim("batch", min=1, max=64)},) if batch else None
    program = torch.export.export(getattr(models, name)().train(), (torch.randn(4, 4),), dynamic_shapes=dynamic)
    torch.export.save(program, "net.pt2")


def check_program_refusals():
    draw = np.random.default_rng(1)
    np.save("x.npy", draw.standard_normal((50, 4), dtype=np.float32))
    np.save("wide.npy", draw.standard_normal((50, 5), dtype=np.float32))
    np.save("y.npy", draw.integers(0, 3, 50))
    with open("t.toml", "w") as out:
        out.write(TOML)
    cases = [
        ("Cond", True, [], ["data-dependent control flow", "in models.py, line", "return torch.cond("]),
        ("Custom", True, [], ['custom operator "torch.ops.mine.twice.default"', "in models.py, line"]),
        ("Dictionary", True, [], ['a dict without "logits"; it has: scores, inputs']),
        ("Depth", True, [], ["aten.rand even in evaluation", "in models.py, line", "model.eval"]),
        ("Plain", False, [], ["its last batch has 2 samples", "for batches of 4"]),
        ("Mean", True, [],
         ['changes the tensor "mean" of the model even in evaluation', "in models.py, line", "model.eval"]),
        ("Plain", True, ["--set", 'dataset.inputs="wide.npy"'], ["of shape [1 to 64, 4]", "gets [2, 5]"]),
    ]
    for name, batch, more, expected in cases:
        save(name, batch)
        error = refused(*more)
        for text in expected:
            assert text in error, f"{name}: {error}"
        assert not os.path.exists("results"), name
    print(f"ddp-exp refuses {len(cases)} files")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-refusals-") as scratch:
        os.chdir(scratch)
        for file, text in (("models.py", MODELS), ("broken.py", "class (")):
            with open(file, "w") as out:
                out.write(text)
        check_export_refusals()
        check_program_refusals()
