"""Every metric, and the curves of evaluation.json, against scikit-learn on float64, for worlds whose ranks get unequal
shares, with the same bits for all."""

import json
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch
from safetensors.torch import load_file
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from program import to_toml

WORLDS = (1, 2, 3, 4, 5)
BATCH = 32
OF_BOTH = ["accuracy", "precision_macro", "recall_macro", "f1_macro", "f1_micro", "auroc", "average_precision"]
OF_ONE = ["confusion", "log_loss", "brier", "ece", "balanced_accuracy", "mcc"]
OF_POSITIVE = ["precision", "recall", "f1"]
OF_CLASSES = [*OF_BOTH, *OF_ONE, "top1", "top2", "perplexity"]
OF_NUMBERS = ["mae", "mse", "rmse", "r2", "mape", "median_absolute_error", "explained_variance"]


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # about classes that nothing predicts
    known = json.loads(called("schema"))["properties"]["loss"]["anyOf"][0]["enum"]
    failures = 0
    for what, loss, samples, targets, metrics in cases():
        if loss not in known:
            continue
        problems = list(tried(loss, samples, targets, metrics))
        failures += bool(problems)
        print("FAILED" if problems else "ok    ", what, *problems, sep="\n  " if problems else " ")
    return failures


def cases():
    """The cases: topic, loss, number of samples, targets, metrics."""
    yield "five classes", "cross_entropy", 203, classes(203, 5), OF_CLASSES
    yield "two classes", "cross_entropy", 333, classes(333, 2), without([*OF_CLASSES, *OF_POSITIVE], "top2")
    yield "fewer batches than ranks", "cross_entropy", 70, classes(70, 3), OF_CLASSES
    yield "an absent class", "cross_entropy", 90, numpy.where(classes(90, 4) == 2, 1, classes(90, 4)), OF_CLASSES
    yield "log-probabilities", "nll", 203, classes(203, 5), OF_CLASSES
    yield "several labels", "bce_with_logits", 203, labels(203, 4), OF_BOTH
    yield "one label", "bce_with_logits", 203, labels(203, 1), [*OF_BOTH, *OF_ONE, *OF_POSITIVE]
    yield "numbers", "mse", 203, numbers(203, 3, 0), OF_NUMBERS
    yield "numbers far from zero", "mse", 203, numbers(203, 2, 1e6), OF_NUMBERS
    yield "one number", "mse", 65, numbers(65, 1, 0), OF_NUMBERS
    yield "a constant target", "mse", 65, numpy.ones((65, 2), numpy.float32), OF_NUMBERS


def without(names, name):
    return [one for one in names if one != name]


def draw(size):
    return numpy.random.default_rng(size)


def classes(size, count):
    return draw(size).integers(0, count, size)


def labels(size, count):
    return (draw(size).random((size, count)) < 0.4).astype(numpy.float32)


def numbers(size, count, offset):
    return (draw(size).normal(size=(size, count)) + offset).astype(numpy.float32)


def tried(loss, samples, targets, metrics):
    """Every difference, as a line of text."""
    columns = int(targets.max()) + 1 if targets.ndim == 1 else targets.shape[1]
    columns = 4 if loss == "cross_entropy" and samples == 90 else columns
    # Few different rows, so many scores are equal.
    inputs = draw(samples + 1).integers(-1, 2, (samples, 4)).astype(numpy.float32)
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(os.path.join(folder, "x.npy"), inputs)
        numpy.save(os.path.join(folder, "y.npy"), targets)
        found = [measured(folder, world, loss, columns, metrics) for world in WORLDS]
        for world, (*figures, _) in zip(WORLDS, found):
            if figures != [*found[0][:2]]:
                yield f"{world} ranks: {figures} instead of {found[0][:2]}"
        values, curves, weights = found[0]
    outputs = outputs_of(weights, inputs)
    for name in metrics:
        expected = reference(name, loss, outputs, targets)
        if not same(values["val_" + name], expected):
            yield f"{name}: {values['val_' + name]!r} instead of {expected!r}"
    yield from differing_curves(loss, curves, outputs, targets)


def differing_curves(loss, curves, outputs, targets):
    if loss == "mse" and targets.shape[1] == 1:
        errors = outputs.numpy() - targets.astype(numpy.float64)
        counts, bins = numpy.histogram(errors, len(curves["residuals"]["counts"]))
        if curves["residuals"]["counts"] != counts.tolist() or not close(curves["residuals"]["bins"], bins):
            yield f"residuals: {curves['residuals']} instead of {counts} in {bins}"
    if loss == "cross_entropy" and outputs.shape[1] == 2:
        scores, positive = outputs.softmax(1).numpy()[:, 1], targets
    elif loss == "bce_with_logits" and targets.shape[1] == 1:
        scores, positive = outputs.sigmoid().numpy()[:, 0], targets[:, 0]
    else:
        return
    fpr, tpr, _ = sk.roc_curve(positive, scores, drop_intermediate=False)
    precision, recall, _ = sk.precision_recall_curve(positive, scores)
    fraction, mean = calibration_curve(positive, scores, n_bins=len(curves["calibration"]["count"]))
    expected = {("roc", "fpr"): fpr, ("roc", "tpr"): tpr, ("pr", "precision"): precision, ("pr", "recall"): recall,
                ("calibration", "fraction"): fraction, ("calibration", "mean_predicted"): mean}  # fmt: skip
    for (curve, name), values in expected.items():
        got = [value for value in curves[curve][name] if value is not None]
        if not close(got, values):
            yield f"{name}: {got} instead of {list(values)}"


def close(got, expected):
    return len(got) == len(expected) and numpy.allclose(got, expected, rtol=1e-9, atol=1e-12)


def measured(folder, world, loss, columns, metrics):
    """The metrics of one epoch without learning, the curves, and the weights."""
    data = {"name": "npy", "inputs": "x.npy", "targets": "y.npy"}
    experiment = {
        "model": {"name": "linear", "in_features": 4, "out_features": columns},
        "dataset": data,
        "loss": loss,
        "metrics": metrics,
        "batch_size": 8,
        "steps": 1,
        "threads": 1,
        "device_pool": ["cpu"] * world,
        "optimizer": {"name": "sgd", "lr": 0.0},
        "validation": {"dataset": {"inputs": "x.npy", "targets": "y.npy"}, "batch_size": BATCH},
    }
    file = os.path.join(folder, "case.toml")
    with open(file, "w") as out:
        out.write(to_toml(experiment))
    called("run", file, "--results", os.path.join(folder, "results"), "--run-id", f"world-{world}")
    run = os.path.join(folder, "results", "case", f"world-{world}")
    with open(os.path.join(run, "summary.json")) as summary:
        final = json.load(summary)["final"]
    values = {name: value for name, value in final.items() if name.startswith("val_")}
    with open(os.path.join(run, "evaluation.json")) as evaluation:
        curves = json.load(evaluation)["validation"]
    return values, curves, load_file(os.path.join(run, "checkpoints", "latest", "model.safetensors"))


def called(*arguments):
    done = subprocess.run([os.environ["DDP_EXP"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ddp-exp {' '.join(arguments)} exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def outputs_of(weights, inputs):
    """The outputs as the validation computes them: batch by batch, in float32."""
    weight = next(value for name, value in weights.items() if name.endswith("weight"))
    bias = next((value for name, value in weights.items() if name.endswith("bias")), None)
    batches = torch.from_numpy(inputs).split(BATCH)
    return torch.cat([torch.nn.functional.linear(batch, weight, bias) for batch in batches]).double()


def reference(name, loss, outputs, targets):
    if loss == "mse":
        return of_numbers(name, outputs.numpy(), targets.astype(numpy.float64))
    if loss == "bce_with_logits":
        return of_labels(name, outputs.sigmoid().numpy(), targets.astype(int))
    p = (outputs.exp() if loss == "nll" else outputs.softmax(1)).numpy()
    return of_classes(name, p, targets)


def of_classes(name, p, y):
    every = list(range(p.shape[1]))
    predicted = p.argmax(1)
    if name.startswith("top"):
        # sklearn.metrics.top_k_accuracy_score prefers the highest index among equal scores.
        order = numpy.argsort(-p, axis=1, kind="stable")[:, : int(name[3:])]
        return float(numpy.mean([target in row for target, row in zip(y, order)]))
    if name == "confusion":
        return sk.confusion_matrix(y, predicted, labels=every).tolist()
    if name == "perplexity":
        return float(numpy.exp(-numpy.mean(numpy.log(p[numpy.arange(len(y)), y]))))
    if name == "auroc" and len(set(y)) < len(every):
        return None
    if name in ("auroc", "average_precision"):
        function = {"auroc": sk.roc_auc_score, "average_precision": sk.average_precision_score}[name]
        return float(function(y, p[:, 1]) if len(every) == 2 else numpy.mean([function(y == c, p[:, c]) for c in every]))
    if name in ("log_loss", "brier") and p.max() > 1:  # a loss of log-probabilities that are none: scikit-learn refuses
        right = p[numpy.arange(len(y)), y]
        squares = ((p - numpy.eye(len(every))[y]) ** 2).sum(1)
        return float(-numpy.log(numpy.maximum(right, numpy.finfo(float).eps)).mean() if name == "log_loss" else squares.mean())
    if name == "log_loss":
        return float(sk.log_loss(y, p, labels=every))
    if name == "brier":
        return float(sk.brier_score_loss(y, p[:, 1] if len(every) == 2 else p, labels=every))
    if name == "ece":
        return calibration_error(p.max(1), predicted == y)
    return score(name, y, predicted, labels=every)


def calibration_error(confidence, right):
    edges, error = numpy.linspace(0, 1, 16), 0
    for low, high in zip(edges[:-1], edges[1:]):
        bin = (confidence > low) & ((confidence <= high) | (high == 1))
        error += bin.mean() * abs(confidence[bin].mean() - right[bin].mean()) if bin.any() else 0
    return float(error)


def of_labels(name, p, y):
    predicted = (p > 0.5).astype(int)
    if name == "accuracy":
        return float(numpy.mean(predicted == y))
    if name in ("auroc", "average_precision"):
        return float({"auroc": sk.roc_auc_score, "average_precision": sk.average_precision_score}[name](y, p, average="macro"))
    if name == "confusion":
        return sk.confusion_matrix(y, predicted).tolist()
    if name in ("log_loss", "brier"):
        return float({"log_loss": sk.log_loss, "brier": sk.brier_score_loss}[name](y[:, 0], p[:, 0]))
    if name == "ece":
        return calibration_error(numpy.maximum(p, 1 - p), predicted == y)
    return score(name, y, predicted)


def score(name, y, predicted, **options):
    whole = {"accuracy": sk.accuracy_score, "balanced_accuracy": sk.balanced_accuracy_score, "mcc": sk.matthews_corrcoef}
    if name in whole:
        return float(whole[name](y, predicted))
    kind, _, average = name.partition("_")
    average = average or "binary"
    function = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}[kind]
    return float(function(y, predicted, average=average, zero_division=0, **options))


def of_numbers(name, outputs, targets):
    functions = {
        "mae": sk.mean_absolute_error,
        "mse": sk.mean_squared_error,
        "rmse": sk.root_mean_squared_error,
        "r2": sk.r2_score,
        "mape": sk.mean_absolute_percentage_error,
        "median_absolute_error": sk.median_absolute_error,
        "explained_variance": sk.explained_variance_score,
    }
    return float(functions[name](targets, outputs))


def same(got, expected):
    if expected is None or isinstance(expected, list):
        return got == expected
    return got is not None and math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)


sys.exit(main())
