"""Numbers as tests/*/values/*.json keep them, and the inputs that they are computed for."""

import math

import torch


def ramp(*shape, shift=0):
    """Inputs that C++ makes in the same way (tests/values.h): -0.5 to 0.5 in steps of 0.1."""
    count = math.prod(shape)
    return ((torch.arange(count) * 5 + shift) % 11 - 5).float().div(10).reshape(shape)


def kept_number(value):
    """Hexadecimal, so that no bit is lost: 0x1.8p-3."""
    mantissa, exponent = float(value).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def kept(tensor):
    values = [kept_number(v) for v in tensor.detach().double().flatten().tolist()]
    return {"shape": list(tensor.shape), "values": " ".join(values)}


def kept_all(named):
    return {name: kept(tensor) for name, tensor in named}
