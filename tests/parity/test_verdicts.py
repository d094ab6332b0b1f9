"""Cross-validations and races: folds with scikit-learn's rows, every number against scikit-learn, scipy or the formula."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats
import sklearn.isotonic
import sklearn.metrics
import sklearn.model_selection
import torch
from program import call, to_toml

sys.path.insert(0, str(pathlib.Path(os.environ["DDP_SOURCE"]) / "python"))
import ddp_run  # noqa: E402

ROWS = 131
draw = np.random.default_rng(5)
failed = passed = 0


def check(title, condition, *shown):
    global failed, passed
    passed, failed = passed + bool(condition), failed + (not condition)
    print(f"{'ok' if condition else 'FAILED':8}{title}", *([] if condition else shown), flush=True)


def near(a, b, most=1e-9):
    return np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=most, atol=most)


def write_table(path):
    kind = draw.choice(["low", "middle", "high"], ROWS, p=[0.6, 0.3, 0.1])
    table = {
        "a": draw.standard_normal(ROWS) + (kind == "high"),
        "b": draw.standard_normal(ROWS) - (kind == "low"),
        "group": draw.integers(0, 17, ROWS),
        "day": draw.integers(0, 90, ROWS),  # with ties
        "kind": kind,
        "number": draw.standard_normal(ROWS) * 3 + 10,
    }
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(table)
        writer.writerows(zip(*table.values()))
    return table


def experiment(**more):
    return {
        "dataset": {"name": "csv", "path": "table.csv", "target": "kind", "drop": ["number", "group", "day"], "normalise": "standard"},
        "model": {"name": "mlp", "hidden": [8]},
        "loss": "cross_entropy",
        "optimizer": {"name": "adam", "lr": 0.05},
        "batch_size": 16,
        "epochs": 3,
        "threads": 1,
        "device_pool": ["cpu"],
        "seed": 0,
        "metrics": ["accuracy", "log_loss", "f1_macro"],
    } | more  # fmt: skip


def run(verb, name, settings, *words):
    pathlib.Path(f"{name}.toml").write_text(to_toml(settings))
    jobs = ["--jobs", "2"] if verb == "cv" else []
    call(verb, f"{name}.toml", "--results", "results", "--run-id", "r", *jobs, *words)
    return pathlib.Path("results") / name / "r"


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def folds_in(folder):
    """{(repeat, fold): rows} of oof.csv, in the order of rows."""
    folds = {}
    for line in read_csv(folder / "oof.csv"):
        folds.setdefault((int(line.get("repeat", 0)), int(line["fold"])), []).append(int(line["row"]))
    return folds


def permutation(seed):
    return torch.randperm(ROWS, generator=torch.Generator().manual_seed(seed)).numpy()


def figures(folder):
    return json.loads((folder / "cv.json").read_text())


def figure_of(values, share_of_folds):
    """The 95 % interval of Nadeau and Bengio."""
    values, n = np.asarray(values), len(values)
    reach = scipy.stats.t.ppf(0.975, n - 1) * np.sqrt(values.var(ddof=1) * (1 / n + share_of_folds))
    return values.mean(), values.std(ddof=1), values.mean() - reach, values.mean() + reach


def evidence(differences):
    d, n = np.asarray(differences), len(differences)
    if n < 2 or (d == 0).all():
        return 1.0
    v = n - 1
    if d.std(ddof=1) == 0:
        return (1 + n) ** (v / 2)
    t2 = d.mean() ** 2 / (d.var(ddof=1) / n)
    return (1 + n) ** -0.5 * ((1 + t2 / v) / (1 + t2 / ((1 + n) * v))) ** ((v + 1) / 2)


def check_folds(table):
    k = 4
    plain = folds_in(run("cv", "plain", experiment(folds={"k": k, "repeats": 2, "seed": 3})))
    for repeat in (0, 1):
        p = permutation(3 + repeat)
        sizes = [len(test) for _, test in sklearn.model_selection.KFold(k).split(p)]
        wanted = np.split(p, np.cumsum(sizes)[:-1])
        check(f"folds are KFold's cuts of the permutation, repeat {repeat}",
              all(plain[repeat, fold] == sorted(wanted[fold]) for fold in range(k)))  # fmt: skip

    stratified = folds_in(run("cv", "stratified", experiment(folds={"k": k, "stratify": True})))
    classes = table["kind"]
    theirs = sklearn.model_selection.StratifiedKFold(k).split(classes, classes)
    for fold, (_, test) in enumerate(theirs):
        mine = stratified[0, fold]
        check(f"fold {fold} has StratifiedKFold's counts",
              all((classes[mine] == c).sum() == (classes[test] == c).sum() for c in set(classes)))  # fmt: skip
    check("stratified folds are a partition", sorted(sum(stratified.values(), [])) == list(range(ROWS)))

    grouped = folds_in(run("cv", "grouped", experiment(folds={"k": k, "by": "group"})))
    theirs = sklearn.model_selection.GroupKFold(k).split(classes, classes, table["group"])
    check("grouped folds are GroupKFold's", all(grouped[0, f] == sorted(test) for f, (_, test) in enumerate(theirs)))

    in_order = experiment(folds={"k": k, "order": "day", "gap": 5})
    in_order["dataset"] = in_order["dataset"] | {"classes": sorted(set(classes))}  # the first rows lack one
    ordered = folds_in(run("cv", "ordered", in_order))
    order = np.argsort(table["day"], kind="stable")
    theirs = list(sklearn.model_selection.TimeSeriesSplit(n_splits=k, gap=5).split(order))
    check("folds in an order are TimeSeriesSplit's", all(ordered[0, f] == sorted(order[test]) for f, (_, test) in enumerate(theirs)))
    low = [figures(pathlib.Path("results/ordered/r"))["metrics"][m][end] for m in ("val_loss", "val_accuracy") for end in ("low", "high")]
    check("folds in an order have no interval", low == [None] * 4, low)

    last = experiment(validation={"last": 0.2, "order": "day"}, epochs=1)
    pathlib.Path("last.toml").write_text(to_toml(last))
    preview = json.loads(call("plan", "last.toml", "--json"))
    check("the last rows are a fifth", [s["samples"] for s in preview["data"]["sets"]][:2] == [ROWS - ROWS // 5, ROWS // 5], preview["data"]["sets"])


def check_figures():
    folder = pathlib.Path("results/plain/r")
    cv = figures(folder)
    check("runs are told with seed, repeat and fold", [(r["run"], r["seed"], r["repeat"], r["fold"]) for r in cv["runs"]]
          == [(f"{i:03}", 0, i // 4, i % 4) for i in range(8)], cv["runs"])  # fmt: skip
    for name, figure in cv["metrics"].items():
        mean, std, low, high = figure_of([r["metrics"][name] for r in cv["runs"]], 1 / 3)
        mine = [figure[key] for key in ("mean", "std", "low", "high")]
        check(f"{name}: mean, std and the corrected interval", near(mine, [mean, std, low, high]) and figure["n"] == 8, mine)
    lines = read_csv(folder / "oof.csv")
    for i, one in enumerate(cv["runs"]):
        own = [line for line in lines if (int(line["repeat"]), int(line["fold"])) == (one["repeat"], one["fold"])]
        accuracy = np.mean([line["prediction"] == line["target"] for line in own])
        names = sorted({line["target"] for line in lines})
        p = np.array([[float(line[f"probability_{name}"]) for name in names] for line in own])
        p /= p.sum(axis=1, keepdims=True)  # float32
        loss = sklearn.metrics.log_loss([line["target"] for line in own], p, labels=names)
        check(f"oof.csv of run {i} gives its metrics", near(accuracy, one["metrics"]["val_accuracy"])
              and near(loss, one["metrics"]["val_log_loss"], 1e-5), accuracy, loss, one["metrics"])  # fmt: skip

    call("predict", "plain/r", "table.csv", "--results", "results", "-o", "mean.csv")
    every = []
    for i in range(8):
        call("predict", f"plain/r/{i:03}", "table.csv", "--results", "results", "-o", "one.csv")
        every.append([[float(v) for k, v in line.items() if k.startswith("probability")] for line in read_csv("one.csv")])
    mine = [[float(v) for k, v in line.items() if k.startswith("probability")] for line in read_csv("mean.csv")]
    check("predict averages the models", near(mine, np.mean(every, axis=0), 1e-6))
    seeds = run("cv", "seeds", experiment(repeat={"seeds": 3}, validation={"split": 0.3}))
    for i in range(3):
        call("run", "seeds.toml", "--results", "alone", "--run-id", str(i), "--set", f"seed={i}", "--set", f"loader.sampler_seed={i}")
        alone = json.loads(pathlib.Path(f"alone/seeds/{i}/summary.json").read_text())["best"]["values"]
        check(f"the run of seed {i} is the run alone", alone["val_loss"] == figures(seeds)["runs"][i]["metrics"]["val_loss"])
    values = [r["metrics"]["val_loss"] for r in figures(seeds)["runs"]]
    mean, std, low, high = figure_of(values, 0)
    mine = [figures(seeds)["metrics"]["val_loss"][key] for key in ("mean", "std", "low", "high")]
    check("seeds: the plain interval", near(mine, [mean, std, low, high]), mine)

    numbers = experiment(folds={"k": 3}, loss="mse", metrics=["rmse"])
    numbers["dataset"] = numbers["dataset"] | {"target": "number", "drop": ["kind", "group", "day"], "normalise_targets": True}
    folder = run("cv", "numbers", numbers)
    lines = read_csv(folder / "oof.csv")
    for one in figures(folder)["runs"]:
        own = [line for line in lines if int(line["fold"]) == one["fold"]]
        rmse = np.sqrt(np.mean([(float(line["prediction_number"]) - float(line["target"])) ** 2 for line in own]))
        check(f"numbers in their unit, fold {one['fold']}", near(rmse, one["metrics"]["val_rmse"], 1e-5), rmse, one["metrics"])


def check_sweep():
    """A sweep whose trials are cross-validations is ranked by their means, and stands for the best of them."""
    settings = experiment(folds={"k": 3}, sweep={"method": "grid", "metric": "val_loss", "parameters": {"optimizer.lr": [0.001, 0.05]}})
    pathlib.Path("swept.toml").write_text(to_toml(settings))
    call("sweep", "swept.toml", "--results", "results", "--run-id", "r", "--jobs", "2")
    means = [figures(pathlib.Path(f"results/swept/r/trials/{i:03}"))["metrics"]["val_loss"]["mean"] for i in (0, 1)]
    ranking = json.loads(call("show", "swept/r", "--results", "results", "--json"))["ranking"]
    check("a sweep of cross-validations", [one["trial"] for one in ranking] == [1, 0] and near([one["metric"] for one in ranking], means[::-1]), ranking)
    for file, name in (("best.csv", "swept/r"), ("trial.csv", "swept/r/trials/001")):
        call("predict", name, "table.csv", "--results", "results", "-o", file)
    check("it predicts with its best trial", pathlib.Path("best.csv").read_bytes() == pathlib.Path("trial.csv").read_bytes())


def check_comparison():
    other = experiment(folds={"k": 4, "repeats": 2, "seed": 3})
    other["model"] = {"name": "mlp", "hidden": [2]}
    folder = run("cv", "other", other)
    paired = json.loads(call("compare", "plain/r", "other/r", "--results", "results", "--json"))["paired"]
    a, b = figures(pathlib.Path("results/plain/r"))["runs"], figures(folder)["runs"]
    for one in paired:
        d = np.array([x["metrics"][one["metric"]] - y["metrics"][one["metric"]] for x, y in zip(a, b)])
        error = np.sqrt(d.var(ddof=1) * (1 / 8 + 1 / 3))
        p = 2 * scipy.stats.t.sf(abs(d.mean() / error), 7)
        mean, _, low, high = figure_of(d, 1 / 3)
        mine = [one[key] for key in ("mean", "low", "high", "p")]
        check(f"{one['metric']}: the corrected paired test", near(mine, [mean, low, high, p], 1e-8) and one["n"] == 8, mine, p)
    same = json.loads(call("compare", "plain/r", "plain/r", "--results", "results", "--json"))["paired"]
    check("a cross-validation beside itself", all((m["p"], m["low"], m["high"]) == (1, 0, 0) for m in same), same)
    none = json.loads(call("compare", "plain/r", "stratified/r", "--results", "results", "--json"))["paired"]
    check("other folds do not pair", none is None, none)


def derived(folder, metric):
    """The values of a metric in metrics.jsonl of each run, in the epoch with the least val_loss."""
    values = []
    for file in sorted(folder.glob("runs/*/metrics.jsonl")):
        events = [json.loads(line) for line in file.read_text().splitlines()]
        values.append(min((e for e in events if e["event"] == "epoch"), key=lambda e: e["val_loss"])[metric])
    return values


def check_paper():
    """Each number of a table for a paper, derived from metrics.jsonl; LaTeX takes the table."""
    runs, metrics = ["plain/r", "other/r"], ["val_loss", "val_f1_macro"]
    table = {kind: call("compare", *runs, "--results", "results", "--format", kind, "--metrics", ",".join(metrics))
             for kind in ("latex", "markdown", "csv")}  # fmt: skip
    of = [[derived(pathlib.Path("results") / run, metric) for metric in metrics] for run in runs]
    for line, values in zip(csv.DictReader(table["csv"].splitlines()), of, strict=True):
        for metric, own in zip(metrics, values):
            mine = [float(line[f"{metric}_{what}"]) for what in ("mean", "std", "n")]
            check(f"csv: {line['run']}, {metric}", near(mine, [np.mean(own), np.std(own, ddof=1), len(own)]), mine)
    best = [np.argmin([np.mean(row[0]) for row in of]), np.argmax([np.mean(row[1]) for row in of])]
    for kind, cell in (("latex", r"(\\textbf{)?([\d.]+)}? \$\\pm\$ ([\d.]+)(\$\^{\*}\$)?"), ("markdown", r"(\*\*)?([\d.]+) ± ([\d.]+)(?:\*\*)?(\\\*)?")):
        found = re.findall(cell, table[kind])
        check(f"{kind}: all cells", len(found) == 4, table[kind])
        for i, (bold, mean, std, same) in enumerate(found):
            row, column = divmod(i, 2)
            own, rest = of[row][column], of[best[column]][column]
            d = np.array(own) - rest
            p = 2 * scipy.stats.t.sf(abs(d.mean()) / np.sqrt(d.var(ddof=1) * (1 / 8 + 1 / 3)), 7) if row != best[column] else 0
            check(f"{kind}: cell {row}, {column}", near([float(mean), float(std)], [np.mean(own), np.std(own, ddof=1)], 1e-3)
                  and bool(bold) == (row == best[column]) and bool(same) == (p >= 0.05), bold, mean, std, same, p)  # fmt: skip
    if shutil.which("pdflatex"):
        pathlib.Path("paper.tex").write_text("\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + table["latex"] + "\\end{document}\n")
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], capture_output=True, text=True)
        check("pdflatex takes it", done.returncode == 0 and "Overfull" not in done.stdout, done.stdout[-500:])


def check_race():
    wide, narrow = experiment(validation={"split": 0.3}, epochs=6), experiment(validation={"split": 0.3}, epochs=1)
    for name, settings in (("wide", wide), ("narrow", narrow)):
        pathlib.Path(f"{name}.toml").write_text(to_toml(settings))
    told = json.loads(call("race", "wide.toml", "narrow.toml", "--results", "results", "--run-id", "r", "--metric", "val_loss",
                           "--jobs", "2", "--max-seeds", "12", "--json"))  # fmt: skip
    kept = json.loads(pathlib.Path("results/wide-narrow/r/race.json").read_text())
    check("race --json prints race.json", told == kept)
    d = [pair["difference"] for pair in told["pairs"]]
    check("differences are a - b", all(pair["a"] - pair["b"] == pair["difference"] for pair in told["pairs"]))
    check("the evidence after each pair", near([pair["e"] for pair in told["pairs"]], [evidence(d[: i + 1]) for i in range(len(d))]))
    ends = [i + 1 for i in range(len(d)) if i + 1 >= 3 and evidence(d[: i + 1]) >= 20]
    check("it ends at the first pair that decides", told["winner"] == "A" and ends == [len(d)], told["winner"], ends)
    bounds = [b for b in (told["low"], told["high"])]
    check("the interval's ends have just enough evidence", all(near(evidence(np.array(d) - b), 20, 1e-6) for b in bounds), bounds)
    alone = json.loads(pathlib.Path("results/wide-narrow/r/runs/B-1/summary.json").read_text())
    call("run", "narrow.toml", "--results", "alone", "--run-id", "b", "--set", "seed=1", "--set", "loader.sampler_seed=1")
    beside = json.loads(pathlib.Path("alone/narrow/b/summary.json").read_text())
    check("a run of a race is the run alone", alone["best"]["values"]["val_loss"] == beside["best"]["values"]["val_loss"])
    equal = json.loads(call("race", "wide.toml", "wide.toml", "--results", "results", "--name", "equal", "--run-id", "r",
                            "--max-seeds", "4", "--json"))  # fmt: skip
    check("equal files: no evidence", equal["winner"] is None and [p["e"] for p in equal["pairs"]] == [1] * 4, equal)
    call("resume", "equal/r", "--results", "results", "--max-seeds", "6")
    longer = json.loads(pathlib.Path("results/equal/r/race.json").read_text())
    check("an undecided race goes on", longer["pairs"][:4] == equal["pairs"] and [p["seed"] for p in longer["pairs"]] == [*range(6)], longer)


def check_reproduction():
    for name, runs in (("plain", 8), ("wide-narrow", None)):
        folder = pathlib.Path(f"results/{name}/r")
        before = {file: file.read_bytes() for file in folder.glob("*.json")}
        latest = os.readlink(f"results/{name}/latest")
        told = call("reproduce", f"{name}/r", "--results", "results", "--pick", "2", "--seed", "1")
        check(f"{name}: two runs of it again", "2 of 2 runs: same bits" in told, told)
        check(f"{name}: nothing changes", before == {file: file.read_bytes() for file in before} and latest == os.readlink(f"results/{name}/latest"))
        too_many = subprocess.run([os.environ["DDP_EXP"], "reproduce", f"{name}/r", "--results", "results", "--pick", "99"], capture_output=True, text=True)
        check(f"{name}: more runs than there are", too_many.returncode == 2, too_many)
    weights = sorted(pathlib.Path("results/plain/r/runs/003/checkpoints").glob("step-*/model.safetensors"))[-1]
    bytes_of = bytearray(weights.read_bytes())
    bytes_of[-1] ^= 1
    weights.write_bytes(bytes_of)
    damaged = subprocess.run([os.environ["DDP_EXP"], "reproduce", "plain/r", "--results", "results"], capture_output=True, text=True)
    check("a damaged checkpoint", damaged.returncode == 1, damaged)


def log_loss(p, y):
    return -np.log(np.clip(p[np.arange(len(y)), y], 2.3e-16, None)).mean()


def predicted(name, file, classes):
    """float64 [rows, classes] and the predicted classes; the module for Python gives the same bits."""
    call("predict", f"{name}/r", file, "--results", "results", "-o", "answers.csv")
    lines = read_csv("answers.csv")
    with warnings.catch_warnings(action="ignore"):
        theirs = ddp_run.load(f"results/{name}/r").predict(file)
    p = np.array([[float(line[f"probability_{c}"]) for c in classes] for line in lines])
    same = all((np.float32(p[:, i]) == theirs[f"probability_{c}"]).all() for i, c in enumerate(classes))
    check(f"{name}: Python's bits", same and [line["prediction"] for line in lines] == list(map(str, theirs["prediction"])))
    return p, np.array([line["prediction"] for line in lines])


def check_decisions(table):
    """[decide] of two classes and of three, fitted to held-out rows that have a file of their own."""
    binary = np.where(table["kind"] == "low", "no", "yes")
    for kind, target in (("two", binary), ("three", table["kind"])):
        for part, rows in (("train", range(90)), ("held", range(90, ROWS))):
            with open(f"{kind}-{part}.csv", "w", newline="") as out:
                csv.writer(out).writerows([["a", "b", "kind"], *([table["a"][i], table["b"][i], target[i]] for i in rows)])
        classes = sorted(set(target))
        y = np.array([classes.index(one) for one in target[90:]])
        base = experiment(validation={"dataset": {"path": f"{kind}-held.csv"}}, epochs=4)
        base["dataset"] = base["dataset"] | {"path": f"{kind}-train.csv", "drop": []}
        run("run", f"{kind}-plain", base)
        p, _ = predicted(f"{kind}-plain", f"{kind}-held.csv", classes)
        thresholds = ("f1", "balanced_accuracy", 0.3) if kind == "two" else (None,) * 3
        for calibrate, threshold in zip(("temperature", "isotonic", "none"), thresholds):
            if threshold is None and calibrate == "none":
                continue
            decide = {"calibrate": calibrate} | ({"threshold": threshold} if threshold else {})
            folder = run("run", f"{kind}-{calibrate}", base | {"decide": decide})
            mine, answers = predicted(folder.parent.name, f"{kind}-held.csv", classes)
            fitted = ddp_run.load(folder).decision
            wanted = p
            if calibrate == "temperature":
                soft = lambda t: scipy.special.softmax(np.log(p) / t, axis=1)  # noqa: E731
                t = scipy.optimize.minimize_scalar(lambda t: log_loss(soft(t), y), bounds=(0.05, 20), method="bounded", options={"xatol": 1e-9}).x
                check(f"{kind}: the temperature is the minimum", near(fitted["temperature"], t, 1e-5), fitted["temperature"], t)
                wanted = soft(fitted["temperature"])
            if calibrate == "isotonic":
                fit = lambda c: sklearn.isotonic.IsotonicRegression(out_of_bounds="clip").fit(p[:, c], y == c)  # noqa: E731
                of = [fit(c) for c in range(len(classes))] if kind == "three" else [fit(1)]
                for c, (curve, theirs) in enumerate(zip(fitted["isotonic"], of, strict=True)):
                    same = near(curve["x"], theirs.X_thresholds_, 1e-6) and near(curve["y"], theirs.y_thresholds_)
                    check(f"{kind}: IsotonicRegression, class {c}", same, curve, theirs.X_thresholds_)
                wanted = np.stack([one.predict(p[:, -len(of) + i]) for i, one in enumerate(of)], axis=1)
                wanted = np.hstack([1 - wanted, wanted]) if kind == "two" else wanted / wanted.sum(axis=1, keepdims=True)
            check(f"{kind}: {calibrate}: the probabilities", near(mine, wanted, 2e-5), np.abs(mine - wanted).max())
            if threshold:
                score = {"f1": sklearn.metrics.f1_score, "balanced_accuracy": sklearn.metrics.balanced_accuracy_score}.get(threshold)
                best = score and max(score(y, wanted[:, 1] >= at) for at in set(wanted[:, 1]))
                check(f"{kind}: the threshold {threshold}", near(score(y, answers == "yes"), best) if score else
                      ((answers == "yes") == (mine[:, 1] >= threshold)).all(), best)  # fmt: skip
            shown = json.loads((folder / "evaluation.json").read_text())["validation"]["decide"]
            check(f"{kind}: {calibrate}: log loss before and after", near([shown["before"]["log_loss"], shown["after"]["log_loss"]],
                  [log_loss(p, y), log_loss(wanted, y)], 1e-5), shown)  # fmt: skip


def check_importance(table):
    """permutation_importance's definition, with the program's permutations."""
    told = json.loads(call("importance", "three-plain/r", "--results", "results", "--repeats", "4", "--json"))
    with warnings.catch_warnings(action="ignore"):
        trained = ddp_run.load("results/three-plain/r")
    classes, y = sorted(set(table["kind"])), table["kind"][90:]
    right = np.array([classes.index(one) for one in y])

    def loss(columns):
        frame = trained.predict(columns)
        return log_loss(np.stack([np.asarray(frame[f"probability_{c}"], float) for c in classes], axis=1), right)

    columns = {name: table[name][90:] for name in ("a", "b")}
    check("importance is by the metric of checkpoints", told["metric"] == "val_loss" and near(told["value"], loss(columns), 1e-5), told)
    for i, name in enumerate(columns):
        values = []
        for repeat in range(4):
            order = torch.randperm(len(y), generator=torch.Generator().manual_seed(i * 4 + repeat)).numpy()
            values.append(loss(columns | {name: columns[name][order]}) - loss(columns))
        mine = next(one for one in told["columns"] if one["column"] == name)
        check(f"the importance of {name}", near([mine["mean"], mine["std"]], [np.mean(values), np.std(values)], 1e-5), mine, values)


def check_resume():
    """Killed at some moments, a cross-validation ends as one that was not."""
    settings = experiment(folds={"k": 4, "repeats": 2, "seed": 3}, epochs=20)
    whole = run("cv", "whole", settings)
    for i, seconds in enumerate((0.3, 0.6, 0.9, 1.2)):
        shutil.rmtree("results/killed", ignore_errors=True)
        pathlib.Path("killed.toml").write_text(to_toml(settings))
        words = [os.environ["DDP_EXP"], "cv", "killed.toml", "--results", "results", "--run-id", "r", "--jobs", "2"]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if not pathlib.Path("results/killed/r/cv.json").exists():
            call(*words[1:])
        for file in ("cv.json", "oof.csv"):
            same = pathlib.Path(f"results/killed/r/{file}").read_bytes() == (whole / file).read_bytes()
            check(f"{file} after a kill, {i}", same)


with tempfile.TemporaryDirectory(prefix="ddp-exp-verdicts-") as work:
    os.chdir(work)
    written = write_table("table.csv")
    check_folds(written)
    check_figures()
    check_sweep()
    check_comparison()
    check_paper()
    check_race()
    check_decisions(written)
    check_importance(written)
    check_resume()
    check_reproduction()
print(f"{passed} of {passed + failed} numbers are right")
sys.exit(bool(failed))
