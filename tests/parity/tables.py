"""Tables prepared with pandas and scikit-learn, and split as in the contract.

Only the ranks import pandas and scikit-learn: they start threads, and ranks.py forks.
"""

import math

import numpy as np
import torch
from torch.utils.data import TensorDataset

MISSING = ["", "NA", "NaN", "nan", "null", "None"]


def load(experiment):
    """(training, validation, test) of an experiment whose dataset is a table; None for a missing set."""
    options = experiment["dataset"]
    validation, test = experiment.get("validation", {}), experiment.get("test", {})
    frame = read(options, experiment["loss"], (validation.get("by"), test.get("by")))
    train, *held_out = split(frame, options["target"], validation, test)
    encoder = Encoder(options, experiment["loss"])
    encoder.fit(usable(frame.iloc[train], options))
    sets = [encoder.encode(usable(frame.iloc[train], options))]
    for section, rows in zip((validation, test), held_out):
        if "dataset" in section:
            sets.append(encoder.encode(usable(read(options | section["dataset"], experiment["loss"]), options)))
        else:
            sets.append(encoder.encode(usable(frame.iloc[rows], options)) if rows else None)
    return sets


def read(options, loss, names=()):
    """All rows; columns that hold names are text, missing cells are NaN."""
    import pandas

    dates = options.get("dates", [])
    text = [*options.get("categories", []), *filter(None, names), *dates]
    if loss == "cross_entropy":
        text.append(options["target"])
    if options["name"] == "csv":
        decimal, thousands = options.get("decimal", "."), options.get("thousands")
        usual = decimal == "." and not thousands
        frame = pandas.read_csv(options["path"], float_precision="round_trip", keep_default_na=False, na_values=options.get("missing_values", MISSING),
                                dtype=dict.fromkeys(text, str) if usual else str, sep=options.get("delimiter", ","))  # fmt: skip
        if not usual:  # pandas rounds such numbers to a neighbour of the nearest double
            targets = [options["target"]] if isinstance(options["target"], str) else options["target"]
            for column in frame.columns.intersection([*options["features"], *targets]).difference(text):
                plain = frame[column].str.replace(thousands or "", "", regex=False).str.replace(decimal, ".", regex=False)
                frame[column] = plain.map(float, na_action="ignore").astype(float)
    elif options["name"] == "parquet":
        is_feather = options["path"].endswith(".feather")
        frame = (pandas.read_feather if is_feather else pandas.read_parquet)(options["path"])
    else:
        frame = pandas.read_json(options["path"], lines=True, precise_float=True, convert_dates=False)
    for column in dates:
        moments = pandas.to_datetime(frame[column], format=options.get("date_format", "ISO8601"), utc=True)
        frame[column] = moments.dt.tz_localize(None)
    return frame


def usable(frame, options):
    features = feature_columns(frame, options)
    return frame.dropna(subset=features) if options.get("missing") == "drop" else frame


def split(frame, target, validation, test):
    """(training rows in their order, held-out rows of validation and of test in the order of the permutation)"""
    taken, held_out = set(), []
    for section in (test, validation):  # the test is drawn first
        order = torch.randperm(len(frame), generator=torch.Generator().manual_seed(section.get("seed", 0))).tolist()
        rows = hold_out(frame, target, section, [row for row in order if row not in taken])
        taken.update(rows)
        held_out.insert(0, rows)
    return sorted(set(range(len(frame))) - taken), *held_out


def hold_out(frame, target, section, order):
    share = section.get("split", 0)
    wanted = math.floor(share * len(frame))
    if section.get("stratify"):
        classes = frame[target].tolist()
        left = {name: math.floor(share * classes.count(name) + 0.5) for name in classes}
        rows = []
        for row in order:
            if left[classes[row]] > 0:
                left[classes[row]] -= 1
                rows.append(row)
        return rows
    if "by" in section:
        values = frame[section["by"]].tolist()
        chosen, held = set(), 0
        for row in order:
            if held >= wanted:
                break
            if values[row] not in chosen:
                chosen.add(values[row])
                held += values.count(values[row])
        return [row for row in order if values[row] in chosen]
    return order[:wanted]


def feature_columns(frame, options):
    targets = [options["target"]] if isinstance(options["target"], str) else options["target"]
    left_out = [*targets, *options.get("drop", [])]
    chosen = options.get("features") or frame.columns
    return [column for column in frame.columns if column in chosen and column not in left_out]


class Encoder:
    def __init__(self, options, loss):
        self.options, self.loss = options, loss

    def fit(self, frame):
        columns = feature_columns(frame, self.options)
        categories = self.options.get("categories", [])
        self.columns = [(column, column in categories) for column in columns]
        self.parts = {column: [part for part, values in parts_of(frame[column]).items() if part == "days" or values.nunique() > 1]
                      for column in self.options.get("dates", []) if column in columns}  # fmt: skip
        self.gaps = [column for column, is_category in self.columns
                     if self.options.get("missing_indicator") and not is_category and frame[column].isna().any()]  # fmt: skip
        self.values = {column: sorted(frame[column].dropna().unique()) for column in columns if column in categories}
        numbers = self.numbers(frame)
        self.fill = fitted("standard", numbers).mean_ if self.options.get("missing") == "mean" else 0
        self.scaler = fitted(self.options.get("normalise", "none"), numbers)
        if self.loss == "cross_entropy":
            self.classes = sorted(frame[self.options["target"]].unique())
        else:
            self.transform = {"log1p": np.log1p, "log": np.log}.get(self.options.get("target_transform"), lambda values: values)
            kind = "standard" if self.options.get("normalise_targets") else "none"
            self.target_scaler = fitted(kind, self.targets(frame))

    def encode(self, frame):
        numbers = self.numbers(frame)
        numbers = scaled(self.scaler, np.where(np.isnan(numbers), self.fill, numbers))
        numbers = iter(numbers.T)
        x = []
        for column, is_category in self.columns:
            if is_category:
                x += [(frame[column] == value).to_numpy(np.float64) for value in self.values[column]]
                if self.options.get("missing_categories") == "value":
                    x.append(frame[column].isna().to_numpy(np.float64))
            else:
                x += [next(numbers) for _ in self.parts.get(column, [column])]
                if column in self.gaps:
                    x.append(frame[column].isna().to_numpy(np.float64))
        x = torch.from_numpy(np.stack(x, axis=1).astype(np.float32))
        if self.loss == "cross_entropy":
            y = torch.tensor([self.classes.index(name) for name in frame[self.options["target"]]])
        else:
            y = torch.from_numpy(scaled(self.target_scaler, self.targets(frame)).astype(np.float32))
        return TensorDataset(x, y)

    def numbers(self, frame):
        found = []
        for column, is_category in self.columns:
            if column in self.parts:
                parts = parts_of(frame[column])
                found += [parts[part].to_numpy(np.float64) for part in self.parts[column]]
            elif not is_category:
                found.append(frame[column].to_numpy(np.float64))
        return np.ascontiguousarray(np.stack(found, axis=1))

    def targets(self, frame):
        target = self.options["target"]
        return self.transform(np.ascontiguousarray(frame[[target] if isinstance(target, str) else target].to_numpy(np.float64)))


def parts_of(moments):
    """The days since 1970, and the parts of the date, as floats with NaN for missing cells."""
    import pandas

    days = (moments - pandas.Timestamp(0)) / pandas.Timedelta(days=1)
    return {"days": days} | {part: getattr(moments.dt, part).astype("float64") for part in ("year", "month", "day", "weekday", "hour")}


def fitted(kind, numbers):
    """NumPy sums a single column pairwise but two columns row by row; the contract sums row by row."""
    from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

    if kind == "none":
        return None
    if kind == "quantile":
        scaler = QuantileTransformer(n_quantiles=min(1000, len(numbers)), output_distribution="normal", subsample=None)
        return scaler.fit(numbers)
    scaler = (StandardScaler if kind == "standard" else MinMaxScaler)()
    twice = np.hstack([numbers, numbers])
    scaler.fit(twice)
    for name in ("mean_", "var_", "scale_", "min_", "data_min_", "data_max_", "data_range_"):
        if hasattr(scaler, name):
            setattr(scaler, name, getattr(scaler, name)[: numbers.shape[1]])
    scaler.n_features_in_ = numbers.shape[1]
    return scaler


def scaled(scaler, numbers):
    return numbers if scaler is None else scaler.transform(numbers)
