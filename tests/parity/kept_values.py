"""The format of the numbers in tests/*/values/*.json, and the inputs that they are computed for."""

import math

import torch


def ramp(*shape, shift=0):
    """The same inputs as in C++ (tests/values.h): -0.5 to 0.5 in steps of 0.1."""
    count = math.prod(shape)
    return ((torch.arange(count) * 5 + shift) % 11 - 5).float().div(10).reshape(shape)


def kept_number(value):
    """Hexadecimal floats, which lose no bit: 0x1.8p-3."""
    mantissa, exponent = float(value).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def kept(tensor):
    values = [kept_number(v) for v in tensor.detach().double().flatten().tolist()]
    return {"shape": list(tensor.shape), "values": " ".join(values)}


def kept_all(named):
    return {name: kept(tensor) for name, tensor in named}
