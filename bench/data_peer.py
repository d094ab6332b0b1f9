"""The peers of `bench_data` (bench/data.cpp); the output has the same format.

data_peer.py csv|parquet|normalised|tokens HOW FILE THREADS

csv: a normalised tensor; HOW: pandas, pyarrow, or parse (pyarrow's reader alone)
parquet: a tensor of the unchanged values; normalised: a normalised tensor; HOW: pandas, pyarrow, or parse
tokens: HOW is "batch,block,seconds": nanoGPT's get_batch
"""

import json
import os
import sys
import time


def features(names):
    return [name for name in names if name != "y"]


def with_pandas(what, file):
    import pandas
    from sklearn.preprocessing import StandardScaler

    table = pandas.read_csv(file, engine="c") if what == "csv" else pandas.read_parquet(file)
    values = table[features(table.columns)].to_numpy()
    if what == "csv":
        values = StandardScaler().fit_transform(values)
    elif what == "normalised":
        values = (values - values.mean(axis=0)) / values.std(axis=0)
    return values.astype("float32"), table["y"].to_numpy("float32")


def read_arrow(what, file):
    import pyarrow.csv
    import pyarrow.parquet

    return pyarrow.csv.read_csv(file) if what == "csv" else pyarrow.parquet.read_table(file)


def with_pyarrow(what, file):
    import numpy

    table = read_arrow(what, file)
    names = features(table.column_names)
    values = numpy.empty((table.num_rows, len(names)), "float32")
    for i, name in enumerate(names):
        column = table[name].to_numpy()
        values[:, i] = column if what == "parquet" else (column - column.mean()) / column.std()
    return values, table["y"].to_numpy().astype("float32")


def table(what, how, file, threads):
    # Imported before the clock starts, because the program's libraries are loaded by then too.
    import pandas  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import sklearn.preprocessing  # noqa: F401
    import torch

    pyarrow.set_cpu_count(threads)
    torch.set_num_threads(threads)
    start, times = time.perf_counter(), os.times()
    if how == "parse":
        tensor = read_arrow(what, file)
    else:
        tensor, target = map(torch.from_numpy, {"pandas": with_pandas, "pyarrow": with_pyarrow}[how](what, file))
        assert len(target) == len(tensor)
    seconds, end = time.perf_counter() - start, os.times()
    reply = {"seconds": seconds, "cpu": end.user - times.user + end.system - times.system}
    if how != "parse":
        reply |= {"rows": len(tensor), "columns": tensor.shape[1], "check": tensor[len(tensor) // 2].sum().item()}
    return reply


def tokens(batch_size, block_size, seconds, file):
    """nanoGPT's train.py, get_batch, on a CPU."""
    import numpy as np
    import torch

    torch.set_num_threads(1)

    def get_batch():
        # Mapped again for each batch, as nanoGPT does, against a memory leak.
        data = np.memmap(file, dtype=np.uint16, mode="r")
        ix = torch.randint(len(data) - block_size, (batch_size,))
        x = torch.stack([torch.from_numpy((data[i : i + block_size]).astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + block_size]).astype(np.int64)) for i in ix])
        return x, y

    get_batch()
    count, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        for _ in range(20):
            count += get_batch()[0].numel()
    return {"rate": count / took}


def main(what, how, file, threads):
    if what == "tokens":
        batch_size, block_size, seconds = how.split(",")
        return tokens(int(batch_size), int(block_size), float(seconds), file)
    return table(what, how, file, int(threads))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
