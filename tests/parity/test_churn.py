"""A table as a spreadsheet of another country writes it becomes calibrated answers, with a few commands and no pandas."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import sklearn.metrics

ROWS, NEW_ROWS, MOST_COMMANDS = 3000, 2000, 8
CHURN = """
dataset.name = "csv"
dataset.path = "kunden.csv"
dataset.target = "gekündigt"
dataset.delimiter = ";"
dataset.decimal = ","
dataset.thousands = "."
dataset.dates = ["Vertragsbeginn"]
dataset.date_format = "%d.%m.%Y"
dataset.categories = ["Ort", "Laufzeit", "Kündigungsgrund"]
dataset.missing_values = ["", "k.A.", "-"]
dataset.missing = "mean"
dataset.missing_indicator = true
dataset.missing_categories = "value"
dataset.normalise = "standard"
dataset.positive = "ja"
dataset.drop = ["Kundennummer"]
model.name = "mlp"
model.hidden = [32]
loss = "cross_entropy"
metrics = ["auroc", "f1", "ece"]
optimizer = { name = "adam", lr = 0.01 }
batch_size = 64
epochs = 8
threads = 1
device_pool = ["cpu"]
checkpoint.metric = "val_auroc"

[validation]
split = 0.25
stratify = true

[decide]
calibrate = "temperature"
threshold = "f1"
"""
draw = np.random.default_rng(11)
commands = 0


def number(value, digits=2):
    """1.234,56"""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def blanks(cells):
    """Some cells are missing, as several people write that."""
    return [draw.choice(["", "k.A.", "-"]) if draw.random() < 0.06 else cell for cell in cells]


def write_customers(path, rows):
    months = draw.integers(0, 72, rows)
    monthly = draw.random(rows) < 0.45
    use, calls = draw.gamma(2, 800, rows), draw.poisson(1.5, rows)
    town = draw.choice(["Zürich", "Köln", "Sankt Gallen", "Łódź"], rows)
    churns = draw.random(rows) < 1 / (1 + np.exp(-(-3.4 + 1.8 * monthly + 0.7 * calls - 0.05 * months - (town == "Köln"))))
    begun = np.datetime64("2024-06-30") - months * 30
    reason = np.where(churns, draw.choice(["Preis", "Service", "Umzug"], rows), "")
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=";")
        writer.writerow(["Kundennummer", "Ort", "Laufzeit", "Vertragsbeginn", "Verbrauch", "Anrufe", "Kündigungsgrund", "gekündigt"])
        writer.writerows(zip(
            (f"K-{i:06}" for i in range(rows)), blanks(town), np.where(monthly, "monatlich", "jährlich"),
            blanks("{2}.{1}.{0}".format(*str(day).split("-")) for day in begun), blanks(map(number, use)), calls, reason,
            np.where(churns, "ja", "nein")))  # fmt: skip
    return churns


def ddp_exp(*words):
    global commands
    commands += 1
    done = subprocess.run([os.environ["DDP_EXP"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done


with tempfile.TemporaryDirectory(prefix="ddp-exp-churn-") as work:
    os.chdir(work)
    write_customers("kunden.csv", ROWS)
    churns = write_customers("neue.csv", NEW_ROWS)
    file = pathlib.Path("churn.toml")
    file.write_text(CHURN)

    warned = ddp_exp("plan", str(file)).stderr
    assert warned.count("alone tells the target") == 1 and '"Kündigungsgrund" alone tells the target' in warned, warned
    file.write_text(CHURN.replace('drop = ["Kundennummer"', 'drop = ["Kundennummer", "Kündigungsgrund"').replace(', "Kündigungsgrund"]\ndataset.missing_v', "]\ndataset.missing_v"))  # fmt: skip
    folds = ddp_exp("cv", str(file), "--set", "validation.split=0", "--set", "validation.stratify=false", "--set", "folds={k=5, stratify=true}").stdout  # fmt: skip
    auroc = json.loads((pathlib.Path(folds.strip()) / "cv.json").read_text())["metrics"]["val_auroc"]
    assert auroc["n"] == 5 and auroc["low"] < auroc["mean"] < auroc["high"] and auroc["mean"] > 0.75, auroc
    warned = ddp_exp("run", str(file), "--run-id", "r").stderr
    assert "alone" not in warned, warned
    ranked = json.loads(ddp_exp("importance", "churn/r", "--json").stdout)["columns"]
    assert {one["column"] for one in ranked[:3]} == {"Vertragsbeginn", "Laufzeit", "Anrufe"}, ranked
    ddp_exp("predict", "churn/r", "neue.csv", "--keep", "Kundennummer", "-o", "antworten.csv")
    ddp_exp("report", "churn/r")
    assert commands <= MOST_COMMANDS

    answers = list(csv.DictReader(open("antworten.csv", newline="", encoding="utf-8")))
    assert [one["Kundennummer"] for one in answers] == [f"K-{i:06}" for i in range(NEW_ROWS)]
    p, said = np.array([float(one["probability_ja"]) for one in answers]), np.array([one["prediction"] == "ja" for one in answers])
    bins = np.clip(np.ceil(p * 10).astype(int) - 1, 0, 9)
    error = sum(abs(p[bins == b].mean() - churns[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    f1, best = sklearn.metrics.f1_score(churns, said), max(sklearn.metrics.f1_score(churns, p >= t) for t in np.unique(p))
    print(f"{churns.mean():.3f} positive, calibration error {error:.3f}, f1 {f1:.3f} of at most {best:.3f}, of 0.5 {sklearn.metrics.f1_score(churns, p > 0.5):.3f}")
    assert error < 0.04, error
    assert f1 > 0.85 * best and f1 > sklearn.metrics.f1_score(churns, p > 0.5), (f1, best)
    page = pathlib.Path("results/churn/r/report.html").read_text()
    assert '"importance"' in page and '"decide"' in page
sys.exit(0)
