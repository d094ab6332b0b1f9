"""Every operator of python/operators.txt in small models: PyTorch's Python, replay = "off" and replay = "auto" have the
same bits. One model holds many operators, each with weights and outputs of its own.

An overload is called with the first arguments of the table that it accepts, else with some that fit its schema: on a
hidden value ("hidden") and on the data ("data"). In the table, h(3, 4) has the shape (batch, 3, 4), and is real,
complex or whole; r, c, i, b and s are real, complex, whole (i(7, 3): below 7, shape (batch, 3)), truth and ±1; v(3, 4)
has no batch; p is a parameter, u a buffer, k(7, 3) three constants below 7; spd(3) is positive definite; e(5) ascends;
n is the size of the batch; t is true in training.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import logging
import math
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import warnings
import zipfile

import parity  # noqa: F401 (before numpy, which would start threads)
import numpy as np
import torch
from torch import nn

import components
import program
import ranks
import reference
from result import Result, differences

sys.path.append(os.path.join(os.environ["DDP_SOURCE"], "python"))
import export_model  # noqa: E402

ATEN = torch.ops.aten
FEATURES, BATCH, TRAINED, HELD_OUT = 128, 6, 27, 17  # the last batches of training and of validation are short
MEMBERS = 24  # of one model, at most
MODEL = None  # the model that export_model.py finds in this module

TABLE = """
max_unpool2d: h(2, 2, 2), i(16, 2, 2, 2), [4, 4]
max_unpool3d: h(2, 2, 2, 2), i(64, 2, 2, 2, 2), [4] * 3, [2] * 3, [0] * 3
_convolution: h(2, 6), p(3, 2, 3), p(3), [1], [1], [1], False, [0], 1, False, False, True, True
_convolution: h(2, 6), p(3, 2, 3), p(3), [1], [1], [1], False, [0], 1, False, False, True
convolution: h(2, 6), p(3, 2, 3), p(3), [1], [1], [1], False, [0], 1
conv1d: h(4, 7), p(6, 2, 3), p(6), [2], [1], [1], 2 | h(4, 7), p(6, 2, 3), p(6), [1], "same", [1], 2
conv2d: h(2, 5, 4), p(3, 2, 3, 2), p(3), [1, 1], [1, 1] | h(2, 5, 4), p(3, 2, 3, 2), p(3), [1, 1], "same"
conv3d: h(2, 3, 4, 3), p(3, 2, 2, 3, 2), p(3), [1] * 3, [1] * 3 | h(2, 3, 4, 3), p(3, 2, 2, 3, 2), None, [1] * 3, "same"
conv_transpose1d conv_transpose2d: h(4, 5), p(4, 3, 3), p(3), [2] | h(2, 3, 4), p(2, 3, 2, 3), p(3), [2, 1]
conv_transpose3d: h(2, 3, 2, 3), p(2, 3, 2, 2, 2), p(3), [2, 1, 1]
rms_norm _fused_rms_norm layer_norm native_layer_norm: h(4, 6), [6], p(6), 1e-5 | h(4, 6), [6], p(6), p(6), 1e-5
group_norm native_group_norm: h(4, 6), 2, p(4), p(4) | h(4, 6), p(4), p(4), n, 4, 6, 2, 1e-5
batch_norm instance_norm: h(4, 3), p(4), p(4), u(4), u(4), t, 0.1, 1e-5, False
dropout native_dropout alpha_dropout feature_dropout feature_alpha_dropout: h(4, 3), 0.3, t
rrelu kron cdist: h(4), 0.1, 0.3, t | h(3), v(2, 2) | h(4, 3), h(5, 3)
pad _pad_enum constant_pad_nd: h(2, 6), [1, 2], "reflect" | h(2, 6), [1, 2], 1 | h(6), [1, 2], 0.5
_weight_norm _weight_norm_interface: v(4, 3), v(4, 1)
prelu: h(4, 3), p(4)
_unsafe_view view reshape: h(4, 6), [-1, 3, 8]
_upsample_nearest_exact1d upsample_nearest1d upsample_linear1d: h(2, 5), None, [1.5] | h(2, 5), None, False, [1.5]
_upsample_bicubic2d_aa _upsample_bilinear2d_aa upsample_bicubic2d upsample_bilinear2d: h(2, 3, 4), None, False, [1.5, 2]
_upsample_nearest_exact2d upsample_nearest2d: h(2, 3, 4), None, [1.5, 2.0]
_upsample_nearest_exact3d upsample_nearest3d: h(2, 3, 2, 3), None, [1.5, 2.0, 1.5]
upsample_trilinear3d affine_grid_generator: h(2, 3, 2, 3), None, False, [1.5, 2.0, 1.5] | h(2, 3), [n, 2, 3, 4], True
grid_sampler grid_sampler_2d: h(2, 4, 4), h(3, 3, 2), 0, 0, False
grid_sampler_3d: h(2, 3, 3, 3), h(2, 2, 2, 3), 0, 0, False
addbmm addmv addr addmm: v(4, 4), h(4, 3), h(3, 4) | h(), h(4), v(4) | h(4), h(), v(4) | h(4), h(3), v(3, 4)
mm mv linear bilinear: h(4), v(4, 3) | h(4), v(4) | h(4), p(3, 4), p(3) | h(4), h(3), p(5, 4, 3), p(5)
einsum meshgrid: "bij,bjk->bik", [h(3, 4), h(4, 2)] | [v(3), v(4)], indexing="ij"
cosine_embedding_loss soft_margin_loss hinge_embedding_loss: h(4), h(4), s() | h(4), s(4)
cross_entropy_loss nll_loss nll_loss_nd multi_margin_loss nll_loss2d: h(4), i(4) | h(4, 2, 3), i(4, 2, 3)
multilabel_margin_loss binary_cross_entropy: h(4), i(4, 4) | h(4).sigmoid(), b(4).float()
poisson_nll_loss bincount: h(4), r(4), True, False, 1e-8, 1 | i(5), None, 5
embedding embedding_bag: p(7, 4), i(7, 3) | p(7, 4), i(7, 3).flatten(), torch.arange(n) * 3
embedding_bag: p(7, 4), i(7, 3).flatten(), torch.arange(n) * 3, False, 0, False, None, False, 1
bucketize searchsorted: r(4), e(5) | 0.3, e(5) | e(5), 0.3
cholesky linalg_cholesky linalg_cholesky_ex linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex: spd(3)
linalg_lu linalg_lu_factor linalg_qr linalg_svd linalg_svdvals det linalg_det slogdet linalg_slogdet logdet: spd(3)
cholesky_inverse inverse nuclear_norm: spd(3).tril() | spd(3) | spd(3), [1, 2]
linalg_lu_solve lu_solve: *torch.linalg.lu_factor(spd(3)), h(3, 2) | h(3, 2), *torch.linalg.lu_factor(spd(3))
linalg_solve linalg_solve_triangular: spd(3), h(3, 2) | spd(3).triu(), h(3, 2), upper=True
linalg_householder_product matrix_exp linalg_matrix_exp: 0.1 * h(4, 3), 0.1 * h(3) | 0.3 * h(3, 3)
linalg_pinv: spd(3), 1e-5 | spd(3), atol=1e-5 | spd(3), torch.tensor(1e-5) | spd(3), atol=torch.tensor(1e-5)
linalg_cond linalg_matrix_norm: spd(3), None | spd(3), "fro" | spd(3), 1
linalg_norm: h(4), 3, [1] | spd(3), "fro", [1, 2]
cross linalg_cross: h(4, 3), h(4, 3), 2 | h(4, 3), h(4, 3)
diagonal linalg_diagonal fft_irfft2 fft_irfftn: h(4, 4), 0, 1, 2 | h(4, 4), None, [1, 2] | h(4, 4)
masked_fill masked_scatter masked_select: h(4), b(4), 2 | h(4), b(4), v() | h(4), b(4), h(4) | h(4), b(4)
where: b(4), h(4), h(4) | b(4), 2, h(4) | b(4), h(4), 2 | b(4), 2.0, 3.0
gather take_along_dim: h(5), 1, i(5, 4) | h(5), i(5, 4), 1
scatter scatter_add scatter_reduce: h(5), 1, i(5, 4), h(4) | h(5), 1, i(5, 4), 2 | h(5), 1, i(5, 4), h(4), "amax"
scatter: h(5), 1, i(5, 4), h(4), reduce="multiply" | h(5), 1, i(5, 4), 2, reduce="add"
index index_select: h(5), [None, i(5, 3)] | h(5), [k(2, 4)] | h(5), 1, k(5, 3)
index_put: h(5), [None, k(5, 5)], h(5) | h(5), [i(2, 2), i(5, 2)], h(2), True
index_add index_copy index_reduce: h(5), 1, k(5, 5), h(5) | h(5), 1, k(5, 5), h(5), "mean"
index_fill take: h(5), 1, k(5, 2), 2 | h(5), 1, k(5, 2), v() | h(5), k(10, 4)
one_hot isin: i(5, 3), 5 | i(5, 4), k(3, 3) | 2, i(5, 4)
lstm: h(3, 4), [h(1, 5).transpose(0, 1)] * 2, [p(20, 4), p(20, 5), p(20), p(20)], True, 1, 0.0, t, False, True
gru: h(3, 4), h(1, 5).transpose(0, 1), [p(15, 4), p(15, 5), p(15), p(15)], True, 1, 0.0, t, False, True
rnn_relu rnn_tanh: h(3, 4), h(1, 5).transpose(0, 1), [p(5, 4), p(5, 5), p(5), p(5)], True, 1, 0.0, t, False, True
lstm_cell gru_cell: h(4), [h(5), h(5)], p(20, 4), p(20, 5), p(20), p(20) | h(4), h(5), p(15, 4), p(15, 5), p(15), p(15)
linspace logspace multinomial: v(), v(), 6 | v(), 1, 6 | 0, v(), 6 | h(4).sigmoid(), 2
randint randint_like: 2, 9, [n, 4] | h(4), torch.tensor(9) | h(4), 2, 9
to stft: h(4), torch.device("cpu"), torch.float64 | h(4), torch.float64 | h(32), 8, return_complex=True
istft: c(5, 6), 8
complex polar view_as_complex narrow: r(4), r(4) | r(4, 2) | h(5), 1, 1, 3 | h(5), 1, k(2, 2)[1], 3
select_scatter diagonal_scatter: h(5, 3), h(3), 1, 2 | h(4, 4), h(4), 0, 1, 2
split split_with_sizes unsafe_split_with_sizes tensor_split: h(6), [2, 4], 1 | h(6), torch.tensor(2), 1
quantile nanquantile: h(5), 0.3, 1 | h(5), torch.tensor([0.3, 0.6]), 1
unbind chunk unsafe_chunk unsafe_split: h(6), 2, 1 | h(3), 1
vsplit diag pdist combinations block_diag: v(4, 3), 2 | v(4, 3), [1, 2] | v(4) | [v(3, 2), v(2, 2)]
expand broadcast_to as_strided permute: v(4), [n, 4] | h(6), [n, 3], [6, 2] | h(3, 4), [0, 2, 1]
sum_to_size repeat_interleave: h(4), [n, 1] | h(3), k(3, 3), 1 | k(3, 4)
norm: h(6), 3, [1], False, dtype=torch.float64 | h(6), 3, dtype=torch.float64
div divide: h(4), h(4), rounding_mode="floor" | h(4), 2, rounding_mode="trunc"
polygamma special_polygamma mvlgamma special_multigammaln: 1, h(4).sigmoid() | 2 + h(4).sigmoid(), 2
bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__: i(9, 4), i(3, 4) | i(9, 4), 2
clamp clip fill: h(4), -0.3, 0.4 | h(4), v(), h(4) + 1 | h(4), v()
fill_diagonal: v(4, 3), 0.3 | v(4, 3), 0.3, True
float_power special_zeta: h(4).double(), 2 | h(4).double(), h(4) | 2.5, 1.5 + r(4).square()
"""

# Functions on sizes, and chains on views that are conjugated or negated when somebody reads them.
CHAINS = """
h(3) * (n + 1) * (n - 1) * (n * n) | h(3) * (n // 2) * (n % 4) * (n / 3) * (-n) | h(3) * n**3
h(3) * torch.sym_ite(n == 6, 2, 3) * torch.sym_ite(n != 6, 2, 3) * torch.sym_ite(n < 6, 2, 3)
h(3) * torch.sym_ite(n <= 5, 2, 3) * torch.sym_ite(n > 5, 2, 3) * torch.sym_ite(n >= 6, 2, 3)
h(3) * torch.sym_ite((n > 2) & (n < 6), 2, 3) * torch.sym_ite((n < 2)|(n > 5), 2, 3)
h(3) * torch.sym_ite(torch.sym_not(n > 5), 2, 3) * torch.sym_max(n, 5) * torch.sym_min(n, 5) * torch._sym_sqrt(n)
h(3) * torch.sym_float(n) * math.trunc(n / 4) | h(3) * h(3).numel() * h(3).t().stride(1)
h(4) * i(5, 3).sum().item()
ATEN._assert_async(b(3).any()|True), h(3) | c(4).mul(2j)
ATEN._assert_scalar(n > 0, "no samples"), h(3) | ATEN._assert_tensor_metadata(h(3), None, None, torch.float32), h(3)
torch.view_as_real(c(4) * c(4)) | c(4).conj() * c(4) | c(4).conj().imag | (c(4) * c(4)).imag.neg() | c(4).abs().square()
torch.fft.rfft(r(8)) * torch.fft.rfft(r(8)) | torch.fft.irfft(torch.fft.rfft(r(8)) * torch.fft.rfft(v(8)))
torch.view_as_real(c(4).conj().resolve_conj()) | c(3, 4) @ c(3, 4).mH | torch.fft.ifft(torch.fft.fft(r(8)).conj())
c(4).conj().imag.exp() | c(4).conj().imag.view(-1, 2, 2).sum(1) | torch.view_as_complex(r(4, 2).clone()).conj().real
ATEN._conj(c(4)).sum(1) | c(4).conj().imag * r(4) | c(4).conj().imag.resolve_neg() | torch.polar(r(4), r(4)).conj()
torch.cat([c(4).conj(), c(4)], 1) | torch.where(b(4), c(4).conj(), c(4)) | c(4).conj().clone()
torch.vdot(c(), c().conj()) | torch.fft.rfft2(r(4, 6)) * torch.fft.rfft2(v(4, 6)).conj()
c(4).real * c(4).imag | torch.fft.fft2(r(3, 4)).abs()
"""
# torch.export leaves none of these in a graph: an answer about values, a size that it knows by other sizes, a check.
NEVER_CALLED = {"allclose", "equal", "is_nonzero", "math.ceil", "math.floor", "sym_constrain_range", "sym_numel",
                "sym_constrain_range_for_size", "sym_storage_offset", "sym_stride", "torch.sym_int", "torch.sym_not"}  # fmt: skip
DOMAINS = {"any": lambda t: t, "unit": lambda t: 0.1 + 0.8 * t.sigmoid(), "above": lambda t: 1.5 + t.square()}
FORMS = [
    torch.complex,
    lambda *parts: torch.view_as_complex(torch.stack(parts, -1)),
    lambda *parts: torch.complex(*parts).conj(),
]
VARIANTS = [{"accumulate": 2}, {"clip": {"norm": 0.05}}, {"ema": {"decay": 0.9}}, {"world": 2}]


def given(member, x):
    """Returns the names of the table for one call of a member, and the list that gets its hidden values."""
    n, hidden, count = x.shape[0], [], itertools.count(1)

    def part(make):
        name = f"part{next(count)}"
        if not hasattr(member, name):
            setattr(member, name, make())
        return getattr(member, name)

    def piece(shape):
        size = math.prod(shape)
        start = 17 * next(count) % (FEATURES - size + 1)
        return x[:, start : start + size].reshape((n, *shape))

    def r(*shape):
        if member.place == "data":
            return DOMAINS[member.domain](piece(shape))
        hidden.append(part(lambda: nn.Linear(FEATURES, math.prod(shape)))(x))
        return DOMAINS[member.domain](hidden[-1].reshape((n, *shape)))

    def c(*shape):
        return FORMS[member.form % len(FORMS)](r(*shape), r(*shape))

    def h(*shape):
        if member.kind == "whole":
            return (r(*shape) * 10).detach().long()
        return c(*shape) if member.kind == "complex" else r(*shape)

    def p(*shape):
        value = part(lambda: (nn.Buffer if member.place == "data" else nn.Parameter)(torch.randn(shape) * 0.5))
        return torch.complex(value, 0.5 * value) if member.kind == "complex" else value

    def spd(size):
        a = h(size, size)
        return a @ a.mH + torch.eye(size)

    return {
        "torch": torch, "math": math, "ATEN": ATEN, "n": n, "t": member.training,
        "r": r, "c": c, "h": h, "p": p, "spd": spd,
        "b": lambda *shape: piece(shape) > 0,
        "i": lambda below, *shape: (piece(shape) * 100).long() % below,
        "s": lambda *shape: (piece(shape) > 0).float() * 2 - 1,
        "v": lambda *shape: h(*shape).sum(0) * (1 if member.kind == "whole" else 0.2),
        "k": lambda below, *shape: part(lambda: nn.Buffer(torch.arange(math.prod(shape)).reshape(shape) % below)),
        "u": lambda *shape: part(lambda: nn.Buffer(torch.ones(shape))),
        "e": lambda size: part(lambda: nn.Buffer(torch.linspace(-1, 1, size))),
    }, hidden  # fmt: skip


class Member(nn.Module):
    """The results of a function of the table's names, then a Linear. The hidden values are in the output too: DDP wants
    a gradient of each parameter."""

    def __init__(self, function, place, kind="real", domain="any", form=0, draws=False):
        super().__init__()
        self.function, self.place, self.kind = function, place, kind
        self.domain, self.form, self.draws = domain, form, draws
        runs = [self.results(torch.randn(n, FEATURES))[0] for n in (BATCH, BATCH, BATCH + 1)]
        self.rows = [dimension_of_batch(*(t.shape for t in same)) for same in zip(*runs)]
        largest = [max(float(real(t).detach().abs().max()) if t.numel() else 0.0 for t in same) for same in zip(*runs)]
        if not all(map(math.isfinite, largest)):
            raise ValueError("not finite")
        self.scales = [1 / max(1.0, one) for one in largest]
        self.head = nn.Linear(self.features(runs[0], BATCH).shape[1], 4)

    def results(self, x):
        names, hidden = given(self, x)
        leaves = torch.utils._pytree.tree_leaves(self.function(names))
        return [t for t in leaves if isinstance(t, torch.Tensor)], hidden

    def features(self, results, n):
        found = []
        for t, row, scale in zip(results, self.rows, self.scales):
            t = real(t) * scale
            t = t.mean() if row == "none" else t
            found.append(t.reshape(1, -1).expand(n, -1) if isinstance(row, str) else t.movedim(row, 0).reshape(n, -1))
        return torch.cat(found, 1)

    def forward(self, x):
        if self.draws and not self.training:
            return self.head.bias.expand(x.shape[0], 4)
        results, hidden = self.results(x)
        output = self.head(self.features(results, x.shape[0]))
        return functools.reduce(torch.add, (one.mean(1, keepdim=True) for one in hidden), output)


def dimension_of_batch(one, other, larger):
    """Returns the dimension that is the batch; "all": no dimension changes; "none": the shape changes otherwise."""
    if one == other == larger:
        return "all"
    changed = [d for d in range(len(one)) if one[d] != larger[d]] if len(one) == len(larger) else []
    return changed[0] if one == other and [one[d] for d in changed] == [BATCH] else "none"


def real(t):
    """Returns a tensor of any kind as real numbers."""
    if t.is_complex():
        t = torch.stack((t.real, t.imag), -1) if t.is_conj() else torch.view_as_real(t)
    return t.to(torch.float32)


def from_text(text):
    code = compile(text, text, "eval")
    return lambda names: eval(code, names)


def functions_of(overload):
    """Generates functions of the table's names that call an overload with arguments that it may accept."""
    schema = overload._schema
    name = schema.name.removeprefix("aten::")
    required = [a for a in schema.arguments if not a.has_default_value()]

    def call(make, names):
        args, options = make(names)
        result = overload(*((args[0].clone(), *args[1:]) if schema.is_mutable else args), **options)
        return result.fill_(0.5) if "empty" in name else result

    def fitting(value, shape, names):
        values = [(a, argument(a, names, value, shape)) for a in required]
        return tuple(v for a, v in values if not a.kwarg_only), {a.name: v for a, v in values if a.kwarg_only}

    for operators, texts in (line.split(": ", 1) for line in TABLE.strip().split("\n")):
        if {name, name.rstrip("_")} & set(operators.split()):
            for text in texts.split(" | "):
                yield functools.partial(call, from_text(f"(lambda *args, **options: (args, options))({text})"))
    for value, *shape in (("h", 6), ("h", 4, 4), ("h", 2, 4, 4), ("h", 2, 4, 4, 4), ("v", 4, 4), ("v", 4)):
        yield functools.partial(call, functools.partial(fitting, value, shape))


def argument(a, names, value, shape):
    """Returns a value for an argument of a schema."""
    kind = str(a.type).replace("SymInt", "int")
    tensor = lambda: names[value](*shape)  # noqa: E731
    if kind == "Tensor" or kind == "List[Tensor]":
        return tensor() if kind == "Tensor" else [tensor(), tensor()]
    if kind == "List[int]":
        one = 3 if a.name == "output_size" else 1 if "pad" in a.name or "dim" in a.name else 2
        return [names["n"], 3] if a.name == "size" else [one] * (a.N or 1)
    number = 0.5 if names["h"](1).is_floating_point() else 2
    return {"number": number, "int": 1 if "dim" in a.name else 2, "float": 0.5, "bool": False, "str": "mean"}.get(kind)


def overloads_of(name):
    """Returns the overloads of an operator and of its in-place form that give tensors. ddp-exp refuses `out`."""
    for packet in (getattr(ATEN, one) for one in (name, name + "_") if hasattr(ATEN, one)):
        for overload in (getattr(packet, one) for one in packet.overloads()):
            schema = overload._schema
            others = any(word in overload._overloadname for word in ("name", "prim", "Dict", "generator", "sublist"))
            gives = any("Tensor" in str(one.type) for one in schema.returns)
            if gives and not others and not any(a.is_out for a in schema.arguments):
                yield overload


def member_of(overload, place, kind, form):
    """Returns the first member of an overload that has finite results and gradients; None: there is none."""
    draws = overload._schema.name.removeprefix("aten::").rstrip("_") in export_model.DRAWS
    for function, domain in itertools.product(functions_of(overload), DOMAINS):
        with contextlib.suppress(Exception):
            torch.manual_seed(0)
            member = Member(function, place, kind, domain, form, draws)
            member(torch.randn(BATCH, FEATURES)).square().mean().backward()
            if all(p.grad is None or bool(p.grad.isfinite().all()) for p in member.parameters()):
                return member.zero_grad() or member
    return None


def members_of(name, form):
    """Returns the members of an operator by (title, overload), and the titles of overloads that no arguments fit."""
    found, unfit = {}, []
    for overload in overloads_of(name):
        title, before = str(overload).removeprefix("aten."), len(found)
        for kind, place in itertools.product(("real", "complex", "whole"), ("hidden", "data")):
            if kind != "whole" or place == "data" or len(found) == before:
                member = member_of(overload, place, kind, form)
                found |= {(f"{title} {kind} {place}", overload): member} if member else {}
        unfit += [title] if len(found) == before else []
    return found, unfit


class Case(nn.ModuleList):
    """One model of several members that do not touch each other."""

    def __init__(self, members):
        super().__init__(members.values())
        self.members = members

    def forward(self, x):
        return torch.cat([member(x) for member in self], 1)

    def parts(self, refused):
        """Returns two halves; of a refused case, the members that torch.export refuses, and the others together."""
        items = list(self.members.items())
        others = [item for item in items if is_exported(item[1])] if refused else []
        parts = [[item] for item in items if item not in others] + [others]
        if not others or len(others) == len(items):
            parts = [items[: len(items) // 2], items[len(items) // 2 :]]
        return [Case(dict(part)) for part in parts]


def is_exported(member):
    with contextlib.suppress(Exception, export_model.Refused):
        return bool(export_model.export(member, (torch.randn(BATCH, FEATURES),), ({0: torch.export.Dim("batch")},)))


class Graph(nn.Module):
    """An exported model in PyTorch's Python: a graph for training, and one for evaluation with the same weights."""

    def __init__(self, path, eval=None):
        super().__init__()
        exported = torch.export.load(path)
        self.graph = exported.module()
        # In a list: its weights are no parameters of this module.
        self.still = [torch.export.load(eval).module() if eval else export_model.switched(exported)]

    def train(self, mode=True):
        self.training = mode  # a graph has no train()
        if not mode:
            self.still[0].load_state_dict(self.graph.state_dict())
        return self

    def forward(self, x):
        return (self.graph if self.training else self.still[0])(x)

    def arrays(self):
        return {name: tensor.contiguous().numpy() for name, tensor in self.graph.state_dict().items()}


class Unfit(Exception):
    """PyTorch's Python does not export or train a model, or ddp-exp does not accept it."""


def train_in_python(experiment):
    try:
        alone = {"parallel": "single", "distributed": {"broadcast_buffers": False}}
        trainer = reference.Trainer(experiment | alone, 0, 1)
        trainer.run()
    except Exception as error:
        raise Unfit(f"Python fails: {error}") from error
    result = Result(tensors=trainer.module.arrays(), norms=trainer.norms, skipped=trainer.skipped)
    result.averages = trainer.averaged.module.arrays() if trainer.averaged else None
    result.losses = [summed / weight for _, summed, _, _, weight in trainer.steps]
    result.samples, result.rates = [step[2] for step in trainer.steps], [step[3] for step in trainer.steps]
    result.validation_losses = {epoch: ranks.metrics_of([batches])["loss"] for epoch, batches in trainer.evaluations}
    if not all(map(math.isfinite, [*result.losses, *result.validation_losses.values()])):
        raise Unfit("Python's losses are not finite")
    return result


def compare(experiment, folder):
    """Returns the differences of Python, "off" and "auto", and how "auto" replayed."""
    world = experiment.pop("world", 1)
    python = train_in_python(experiment) if world == 1 else None
    results = {}
    for replay in ("off", "auto"):
        where = os.path.join(folder, replay)
        os.makedirs(where)
        signal.alarm(120)  # a hang
        try:
            results[replay] = program.run_program(experiment | {"replay": replay}, world, where, "shm")
        except RuntimeError as error:
            if world > 1 and "is not finite" in str(error):  # Python has trained one rank alone
                raise Unfit("losses of two ranks are not finite") from error
            if "exited with 2:" in str(error):
                raise Unfit(f"refused by ddp-exp: {str(error).partition('net.pt2: ')[2]}") from error
            raise
        finally:
            signal.alarm(0)
    found = [f"auto instead of off: {line}" for line in differences(results["auto"], results["off"])]
    found += [f"off instead of Python: {line}" for line in differences(results["off"], python)] if python else []
    with open(os.path.join(folder, "auto/results/case/shm/summary.json")) as file:
        return found, json.load(file)["replay"]


class Soak:
    def __init__(self, seed, keep, scratch):
        self.seed, self.keep, self.scratch = seed, keep, scratch
        self.number = self.replayed = 0
        self.called, self.found, self.lists = set(), [], {}

    def check(self, case):
        """Compares a case; its parts, if it fails as a whole or is not replayed."""
        self.number += 1
        titles, turn = [title for title, _ in case.members], self.number + self.seed
        folder = os.path.join(self.scratch, str(self.number))
        os.mkdir(folder)
        try:
            experiment = self.exported(case, folder)
            for more in ({}, VARIANTS[turn // 2 % 4]) if turn % 2 else ({},):
                lines, replay = compare(experiment | more, os.path.join(folder, *more, "run"))
                if lines or not replay["steps"]:
                    break
        except Unfit as error:
            lines, replay = [], {"steps": 0, "reason": "unfit"}
            if len(case) == 1:
                self.note(" ".join(str(error).split())[:80], titles)
        except Exception as error:
            lines, replay = [f"{type(error).__name__}: {error}"], {"steps": 0, "reason": "failed"}
        changed = {int(line.split(": ")[1].split(".")[0]) for line in lines if "values differ" in line}
        if lines and self.keep:
            shutil.copytree(folder, os.path.join(self.keep, str(self.number)))
        shutil.rmtree(folder)
        if len(case) > 1 and (not replay["steps"] or lines and not changed):
            return [self.check(part) for part in case.parts(replay["reason"] == "unfit")]
        self.replayed += len(case) if replay["steps"] else 0
        if replay["reason"] not in (None, "failed", "unfit"):
            self.note(f"not replayed: {replay['reason']}", titles)
        for at in sorted(changed) or ([0] if lines else []):
            own = [line for line in lines if f": {at}." in line] or lines
            print(f"DIFFERS {titles[at]} ({self.number})", *own[:4], sep="\n      ", flush=True)
            self.found.append(titles[at])

    def note(self, what, titles):
        self.lists.setdefault(what, []).extend(titles)

    def exported(self, case, folder):
        """Exports a case as a user does, and returns its experiment."""
        global MODEL
        MODEL = case
        path, evaluation = os.path.join(folder, "net.pt2"), os.path.join(folder, "net.eval.pt2")
        options = argparse.Namespace(
            model=f"{__name__}:MODEL", paths=[path], args="{}", config=None, pretrained=None, seed=0,
            input=[str(FEATURES)], target=[], loss=None, loss_from_model=False, predict=None, batch=BATCH, min_batch=1, max_batch=65536)  # fmt: skip
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                export_model.run(options)
        except (Exception, export_model.Refused) as error:
            raise Unfit(f"refused by export: {error}") from error
        with zipfile.ZipFile(path) as archive:
            graph = archive.read(next(name for name in archive.namelist() if name.endswith("/model.json"))).decode()
        called = {target.removeprefix("torch.ops.") for target in re.findall(r'"target": ?"([^"]+)"', graph)}
        self.called |= {name.split(".")[1] if name.startswith("aten.") else name for name in called}
        others = [title for title, overload in case.members if overload and str(overload) not in called]
        self.note("under another name in the graph", others)
        draw = np.random.default_rng(1)
        arrays = {"input": FEATURES, "target": 4 * len(case)}
        for name, width in arrays.items():
            array = draw.standard_normal((TRAINED + HELD_OUT, width), dtype=np.float32)
            np.save(os.path.join(folder, f"{name}.npy"), array)
        return {
            "model": {"name": "exported", "path": path} | ({"eval": evaluation} if os.path.exists(evaluation) else {}),
            "dataset": {"name": "npy"} | {f"{name}s": os.path.join(folder, f"{name}.npy") for name in arrays},
            "loss": "mse", "batch_size": BATCH, "epochs": 4, "optimizer": {"name": "sgd", "lr": 0.01},
            "validation": {"split": (HELD_OUT + 0.5) / (TRAINED + HELD_OUT)},
            "checkpoint": {"keep_best": 0}, "log": {"tensorboard": False},
        }  # fmt: skip


def timed_out(*_):
    raise TimeoutError("no end after two minutes")


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", default="ALL", help="how many operators, drawn at random; ALL")
    parser.add_argument("--seed", type=int, default=0, help="of the draw, the variants and the complex numbers (0)")
    parser.add_argument("--only", nargs="*", help="these operators")
    parser.add_argument("--keep", help="a folder for the models and experiments that differ")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    logging.disable()  # of torch.export
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, timed_out)
    components.MODELS["exported"] = Graph
    names = options.only or sorted(export_model.allowed_operators())
    if options.count != "ALL":
        names = random.Random(options.seed).sample(names, int(options.count))
    members, unfit, empty = {}, [], []
    for name in names:
        found, without = members_of(name, options.seed)
        members |= found
        unfit += without
        empty += [] if found else [name]
    if names == sorted(export_model.allowed_operators()):
        for text in CHAINS.strip().replace("\n", " | ").split(" | "):
            members |= {(f"{text} {place}", None): Member(from_text(text), place) for place in ("hidden", "data")}
    with tempfile.TemporaryDirectory(prefix="ddp-exp-operators-") as scratch:
        soak = Soak(options.seed, options.keep, scratch)
        items = iter(members.items())
        while some := dict(itertools.islice(items, MEMBERS)):
            soak.check(Case(some))
    missing = sorted(set(empty) - soak.called - NEVER_CALLED) if options.count == "ALL" else []
    print(f"{len(names)} operators in {len(members)} models: {soak.replayed} replayed, {len(soak.found)} differ")
    for what, titles in (soak.lists | {"no arguments fit": unfit, "without a case": missing}).items():
        print(f"{len(titles)} {what}: {', '.join(titles)}")
    return bool(soak.found or missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
