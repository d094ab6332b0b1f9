"""The results of a run on either side, and the differences of two results."""

import math
from dataclasses import dataclass, field

import numpy


@dataclass
class Result:
    tensors: dict  # state_dict: name -> array
    losses: list = field(default_factory=list)  # per optimizer step, over all ranks
    samples: list = field(default_factory=list)
    rates: list = field(default_factory=list)
    norms: list = field(default_factory=list)  # of all gradients, per step, if clipping is on
    skipped: list = field(default_factory=list)  # per step: fp16's scale was too large
    averages: dict = None  # the state_dict of the averaged model
    train_losses: dict = field(default_factory=dict)  # by epoch, of complete epochs
    validation_losses: dict = field(default_factory=dict)
    accuracies: dict = field(default_factory=dict)  # only if targets are classes
    tested: dict = field(default_factory=dict)  # test_loss and test_accuracy, if the experiment has a test


def differences(ours, reference):
    """Every difference as a line of text; empty if the two runs are the same."""
    # An epoch that `steps` cuts short may or may not have a line.
    train_losses = {epoch: loss for epoch, loss in ours.train_losses.items() if epoch in reference.train_losses}
    return [
        *tensor_differences(ours.tensors, reference.tensors),
        *(tensor_differences(ours.averages, reference.averages) if ours.averages and reference.averages else []),
        *("averages: on one side alone" for _ in [0] if bool(ours.averages) != bool(reference.averages)),
        *step_differences("loss", ours.losses, reference.losses),
        *step_differences("grad_norm", ours.norms, reference.norms),
        *step_differences("skipped", ours.skipped, reference.skipped),
        *step_differences("samples", ours.samples, reference.samples),
        *step_differences("lr", ours.rates, reference.rates),
        # A sum over many steps; the contract does not fix its order.
        *epoch_differences("train_loss", train_losses, reference.train_losses, 1e-12),
        *epoch_differences("val_loss", ours.validation_losses, reference.validation_losses, 0),
        *epoch_differences("val_accuracy", ours.accuracies, reference.accuracies, 0),
        *(f"test: {ours.tested} instead of {reference.tested}" for _ in [0] if ours.tested != reference.tested),
    ]


def tensor_differences(ours, reference):
    if list(sorted(ours)) != list(sorted(reference)):
        yield f"tensors: {sorted(ours)} instead of {sorted(reference)}"
        return
    for name, expected in reference.items():
        got = ours[name]
        if (got.dtype, got.shape) != (expected.dtype, expected.shape):
            yield f"{name}: {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
        elif got.tobytes() != expected.tobytes():
            gap = numpy.abs(got.astype(numpy.float64) - expected.astype(numpy.float64))
            yield f"{name}: {numpy.count_nonzero(gap)} of {gap.size} values differ, by {gap.max():.3g} at most"


def step_differences(what, ours, reference):
    for step, (got, expected) in enumerate(zip(ours, reference), start=1):
        if got != expected:
            yield f"{what}: first differs in step {step} of {len(reference)}: {got!r} instead of {expected!r}"
            break
    if len(ours) != len(reference):
        yield f"{what}: {len(ours)} steps instead of {len(reference)}"


def epoch_differences(what, ours, reference, tolerance):
    if list(ours) != list(reference):
        yield f"{what}: in epochs {list(ours)} instead of {list(reference)}"
        return
    for epoch, expected in reference.items():
        if not math.isclose(ours[epoch], expected, rel_tol=tolerance, abs_tol=0):
            yield f"{what}: {ours[epoch]!r} instead of {expected!r} in epoch {epoch}"
