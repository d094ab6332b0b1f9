"""Tables: the same parameters, val_loss and test_loss as with pandas, scikit-learn and PyTorch's Python, and the same
bits for each kind of file."""

import multiprocessing
import os
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy starts no thread in the process that ranks.py forks

import numpy as np  # noqa: E402

from parity import case, check  # noqa: E402

ROWS = 333


def write_tables(folder):
    """Writes the files in a separate process, because pandas and pyarrow start threads."""
    import pandas

    draw = np.random.default_rng(1)
    a, b = draw.standard_normal(ROWS), draw.standard_normal(ROWS) * 1e-3 + 1e6
    kinds = np.array(["low", "middle", "top, \"best\"", "Überlauf"])
    frame = pandas.DataFrame({
        "a": a,
        "b": b,
        "constant": np.full(ROWS, 0.1),
        "colour": draw.choice(["red", "green", "blue"], ROWS),
        "count": draw.integers(0, 1000, ROWS),
        "group": draw.choice([f"g{i}" for i in range(20)], ROWS),
        "kind": kinds[np.clip(np.digitize(a + draw.standard_normal(ROWS) / 3, [-1, 0, 1]), 0, 3)],
        "one": a * 3 + draw.standard_normal(ROWS),
        "two": 1e4 + a * b,
    })  # fmt: skip
    holes = frame.copy()
    for column in ("a", "b", "colour"):
        holes.loc[draw.random(ROWS) < 0.1, column] = None

    def write(name, rows):
        path = os.path.join(folder, name)
        rows.to_csv(f"{path}.csv", index=False)
        rows.to_csv(f"{path}.csv.gz", index=False)
        rows.to_parquet(f"{path}.parquet", row_group_size=50)
        rows.to_feather(f"{path}.feather")
        rows.to_json(f"{path}.jsonl", orient="records", lines=True, double_precision=15)

    write("all", frame)
    write("holes", holes)
    write_spreadsheet(folder, holes, draw)
    frame[:200].to_csv(os.path.join(folder, "train.csv"), index=False)
    frame[200:270].to_csv(os.path.join(folder, "validation.csv"), index=False)
    frame[270:].to_csv(os.path.join(folder, "test.csv"), index=False)
    # pandas writes 15 digits to JSON: the JSON is compared with a CSV of these digits.
    short = pandas.read_json(os.path.join(folder, "all.jsonl"), lines=True, precise_float=True)
    short.to_csv(os.path.join(folder, "short.csv"), index=False)


def write_spreadsheet(folder, holes, draw):
    """The same rows as a spreadsheet of another country writes them, with dates."""
    import pandas

    sheet = holes[["a", "b", "colour", "count", "kind", "one", "two"]].copy()
    sheet.insert(1, "day", pandas.Timestamp("2023-12-30") + pandas.to_timedelta(draw.integers(0, 90, ROWS), "D"))
    sheet.insert(2, "moment", pandas.Timestamp("2024-02-28 22:30") + pandas.to_timedelta(draw.integers(0, 200, ROWS), "h"))
    sheet.loc[draw.random(ROWS) < 0.1, "day"] = None
    sheet["two"] = sheet["two"].abs()
    sheet.to_parquet(os.path.join(folder, "sheet.parquet"))
    sheet.to_csv(os.path.join(folder, "sheet.csv"), index=False, date_format="%Y-%m-%dT%H:%M:%SZ")
    sheet["count"] = [f"{int(one) * 1000:,}".replace(",", ".") for one in sheet["count"]]
    sheet.to_csv(os.path.join(folder, "sheet-de.csv"), index=False, sep=";", decimal=",", date_format="%d.%m.%Y %H Uhr")


def cases(folder):
    def table(file, target, name="csv", **options):
        return {"name": name, "path": os.path.join(folder, file), "target": target} | options

    def mlp(inputs, outputs):
        return {"name": "mlp", "in_features": inputs, "hidden": [16], "out_features": outputs}

    def classes(title, file="all.csv", model=None, options=None, **experiment):
        dataset = table(file, "kind", drop=["group", "one", "two"], categories=["colour"]) | (options or {})
        experiment = {"validation": {"split": 0.2}, "test": {"split": 0.1}} | experiment
        return case(title, dataset=dataset, loss="cross_entropy", model=model or mlp(7, 4), **experiment)

    def numbers(title, file="all.csv", target=("one", "two"), options=None, inputs=4, **experiment):
        target = target if isinstance(target, str) else list(target)
        outputs = 1 if isinstance(target, str) else len(target)
        dataset = table(file, target, features=["a", "constant", "b", "count"]) | (options or {})
        experiment = {"validation": {"split": 0.2}, "test": {"split": 0.1}} | experiment
        return case(title, dataset=dataset, loss="mse", model=mlp(inputs, outputs), **experiment)

    sheet = {"features": ["a", "day", "moment", "b", "colour", "count"], "dates": ["day", "moment"], "categories": ["colour"]}
    standard, minmax = {"normalise": "standard"}, {"normalise": "minmax"}
    scaled_targets = minmax | {"normalise_targets": True}
    stratified = {"validation": {"split": 0.2, "stratify": True}, "test": {"split": 0.15, "stratify": True}}
    by = {"validation": {"split": 0.2, "by": "group"}, "test": {"split": 0.1, "by": "group"}}
    own = {
        section: {"dataset": {"path": os.path.join(folder, f"{section}.csv")}} for section in ("validation", "test")
    }
    everything = standard | {"missing": "mean"}
    return [
        *(
            classes(f"classes, filled with the mean, standardised, stratified, {world} ranks", "holes.csv",
                    options=everything, world=world, **stratified)
            for world in (1, 2)
        ),
        classes("classes, three ranks", options=standard, world=3),
        classes("rows with missing cells left out", "holes.csv", options=standard | {"missing": "drop"}),
        classes("missing cells are 0", "holes.csv", options=minmax | {"missing": "zero"}),
        classes("nothing normalised", options={"drop": ["group", "one", "two", "b", "count"]}, model=mlp(5, 4)),
        classes("whole groups held out", options=standard, **by),
        classes("another seed", options=standard, validation={"split": 0.31, "seed": 5}, test={"split": 0.2}),
        classes("sets of their own", "train.csv", options=standard, **own),
        classes("a test without validation", options=standard, validation={}),
        *(numbers(f"numbers, minmax, normalised targets, {world} ranks", options=scaled_targets, world=world)
          for world in (1, 2)),
        numbers("one number, standardised", target="one", options=standard | {"normalise_targets": True}),
        numbers("numbers as they are", target="one", options=standard),
        *(
            numbers(f"a table as a spreadsheet writes it, {title}", file, options=sheet | standard | {"normalise_targets": True} | options,
                    inputs=inputs)
            for title, file, inputs, options in (
                ("filled with the mean", "sheet.csv", 19, {"missing": "mean", "missing_indicator": True}),
                ("quantiles", "sheet.csv", 17, {"missing": "zero", "normalise": "quantile", "missing_categories": "value"}),
                ("another country's", "sheet-de.csv", 19,
                 {"missing": "mean", "missing_indicator": True, "delimiter": ";", "decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y %H Uhr"}),
                ("of Parquet", "sheet.parquet", 16, {"name": "parquet", "missing": "drop", "normalise": "minmax"}),
            )
        ),
        numbers("the logarithm of a target", "sheet.csv", "two", sheet | standard | {"missing": "mean", "target_transform": "log1p", "normalise_targets": True}, 16),
        *(
            classes(f"from {file}", file, options=everything | {"name": kind}, **stratified)
            for kind, file in (("csv", "holes.csv.gz"), ("parquet", "holes.parquet"), ("parquet", "holes.feather"))
        ),
        classes("from all.jsonl", "all.jsonl", options=standard | {"name": "jsonl"}),
        classes("from the CSV of the content of all.jsonl", "short.csv", options=standard),
    ]  # fmt: skip


with tempfile.TemporaryDirectory(prefix="ddp-exp-tables-") as scratch:
    writer = multiprocessing.get_context("fork").Process(target=write_tables, args=(scratch,))
    writer.start()
    writer.join()
    status = writer.exitcode or check(cases(scratch))
sys.exit(status)
