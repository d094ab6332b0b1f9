"""Computes medians.json, the medians that test_tpe.cpp compares with: the best value after 60 trials, over 50 seeds,
that Optuna's TPESampler finds for the functions of functions.h, one trial after the other.

    pip install optuna==5.0.0 && python3 compute.py > medians.json

"default" uses the sampler's defaults; "independent" chooses each parameter by itself, as older versions did.
"""

import json
import math
import statistics
import sys

import optuna

TRIALS, SEEDS = 60, 50
HARTMANN_ALPHA = [1.0, 1.2, 3.0, 3.2]
HARTMANN_A = [
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
]
HARTMANN_P = [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
]


def sphere(trial):
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return x * x + y * y


def rosenbrock(trial):
    x, y = trial.suggest_float("x", -2, 2), trial.suggest_float("y", -1, 3)
    return 100 * (y - x * x) ** 2 + (1 - x) ** 2


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    valley = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return valley * valley + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann(trial):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
    return -sum(
        alpha * math.exp(-sum(a * (v - p * 1e-4) ** 2 for a, v, p in zip(row, x, centre)))
        for alpha, row, centre in zip(HARTMANN_ALPHA, HARTMANN_A, HARTMANN_P)
    )


def mixed(trial):
    lr = trial.suggest_float("lr", 1e-5, 1, log=True)
    units = trial.suggest_int("units", 4, 512, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    choice = trial.suggest_categorical("choice", [0, 1, 2, 3])
    rate, width = math.log10(lr) + 2.5 + 0.5 * (choice == 2), math.log2(units) - 6
    return rate * rate + 0.3 * width * width + 0.2 * (layers - 3) ** 2 + [1.0, 0.5, 0.0, 2.0][choice]


FUNCTIONS = [sphere, rosenbrock, branin, hartmann, mixed]


def best_values(function, **settings):
    values = []
    for seed in range(SEEDS):
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, **settings))
        study.optimize(function, n_trials=TRIALS)
        values.append(study.best_value)
    return values


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = {}
    for function in FUNCTIONS:
        of[function.__name__] = {
            "default": statistics.median(best_values(function)),
            "independent": statistics.median(best_values(function, multivariate=False)),
        }
    json.dump({"optuna": optuna.__version__, "trials": TRIALS, "seeds": SEEDS, "functions": of}, sys.stdout, indent=2)
    print()


main()
