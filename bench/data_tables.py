"""From the file of a table to tensors in memory: inputs float32 [rows, 19] and the target float32 [rows, 1].

Both sides begin with their libraries loaded and the file in the page cache, and use the same cores. Both report the
numbers of rows and columns and the sum of the middle row, which must agree.
"""

import functools
import json
import math
import os

from data_sets import Seconds, data_file, reply_of_peer, reply_of_program
from table import Table

CORES = len(os.sched_getaffinity(0))


class Comparison:
    """The sides of one table. Their results must agree."""

    def __init__(self, what, file):
        self.what, self.file, self.result = what, file, None

    def take(self, reply):
        if "check" in reply:
            result = [reply["rows"], reply["columns"], reply["check"]]
            self.result = self.result or result
            same = result[:2] == self.result[:2] and math.isclose(result[2], self.result[2], rel_tol=1e-3, abs_tol=1e-3)
            assert same, f"{self.file}: {result} here, {self.result} on the other side"
        return Seconds(reply["seconds"], reply["cpu"])

    def ddp_exp(self):
        name = "parquet" if self.what in ("parquet", "normalised") else "csv"
        normalise = "none" if self.what == "parquet" else "standard"
        options = {"name": name, "path": self.file, "target": "y", "normalise": normalise}
        if self.what == "sheet":
            options |= {"delimiter": ";", "decimal": ",", "thousands": ".", "dates": ["x0", "x1"]}
        return self.take(reply_of_program("table", json.dumps(options), "mse", CORES))

    def peer(self, how):
        return self.take(reply_of_peer("data_peer.py", self.what, how, self.file, CORES))

    def rows(self, **peers):
        return {"ddp-exp": self.ddp_exp} | {title: functools.partial(self.peer, how) for how, title in peers.items()}


def csv_tables(small=False):
    size = 300_000 if small else 1 << 30
    rows = Comparison("csv", data_file("csv", size, "table.csv")).rows(
        pandas="pandas.read_csv + StandardScaler",
        pyarrow="pyarrow.csv + numpy",
        parse="the limit: pyarrow.csv alone",
    )
    sheet = Comparison("sheet", data_file("sheet", size, "sheet.csv"))
    rows["ddp-exp, decimal commas, two columns are dates"] = sheet.ddp_exp
    yield Table("data-csv", f"seconds from {size / 1e9:.2g} GB of CSV, 20 columns, to a normalised tensor", "less", rows)


def parquet_tables(small=False):
    count = 2000 if small else 10_000_000
    file = data_file("parquet", count, "table.parquet")
    for what, words in {"parquet": "a tensor", "normalised": "a normalised tensor"}.items():
        rows = Comparison(what, file).rows(
            pandas="pandas.read_parquet + numpy",
            pyarrow="pyarrow.parquet + numpy, by columns",
            parse="the limit: pyarrow.parquet alone",
        )
        title = f"seconds from {count:,} rows of Parquet, 20 columns, to {words}"
        yield Table(f"data-{what}", title, "less", rows)
