"""Writes the files of bench/data_*.py, with the peer's Python: data_files.py KIND FILE SIZE.

csv         a table of 20 columns of numbers with six decimals, x0 to x18 and y; SIZE: bytes
sheet       the same as a spreadsheet of another country writes it: semicolons, decimal commas, and x0 and x1 are dates
parquet     the same columns as doubles with all their digits; SIZE: rows
classes     .csv or .parquet with 19 numbers and a column "label", "yes" or "no"; SIZE: rows
tokens      numbers below 50257 as uint16; SIZE: bytes
characters  numbers below 65 as uint16; SIZE: bytes
array       float32 [rows, 256] as .npy, and targets [rows, 1] beside it in ….targets.npy; SIZE: bytes of the inputs
"""

import sys

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.parquet

COLUMNS, PIECE, WIDTH, VOCABULARY = 20, 250_000, 256, 50257


def piece_of(random, rows, last="y"):
    columns = {f"x{i}": random.standard_normal(rows) * (i + 1) for i in range(COLUMNS - 1)}
    target = random.standard_normal(rows)
    columns[last] = target if last == "y" else numpy.where(target + columns["x0"] > 0, "yes", "no")
    return columns


def rounded(columns):
    return {name: values.round(6) if values.dtype == float else values for name, values in columns.items()}


def csv(file, size):
    random = numpy.random.default_rng(0)
    with open(file, "wb") as out:
        while out.tell() < size:
            rows = min(PIECE, size // 160 + 1)
            table = pyarrow.table(rounded(piece_of(random, rows)))
            pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=out.tell() == 0))


def sheet(file, size):
    random = numpy.random.default_rng(0)
    with open(file, "wb") as out:
        while out.tell() < size:
            rows = min(PIECE, size // 160 + 1)
            columns = rounded(piece_of(random, rows))
            for name in ("x0", "x1"):
                columns[name] = numpy.datetime64("2019-01-01") + random.integers(0, 2000, rows)
            text = pyarrow.BufferOutputStream()
            options = pyarrow.csv.WriteOptions(include_header=out.tell() == 0, delimiter=";")
            pyarrow.csv.write_csv(pyarrow.table(columns), text, options)
            out.write(text.getvalue().to_pybytes().replace(b".", b","))


def parquet(file, rows, last="y"):
    random = numpy.random.default_rng(0)
    first = pyarrow.table(piece_of(random, min(PIECE, rows), last))
    with pyarrow.parquet.ParquetWriter(file, first.schema) as out:
        out.write_table(first)
        for begin in range(PIECE, rows, PIECE):
            out.write_table(pyarrow.table(piece_of(random, min(PIECE, rows - begin), last)))


def classes(file, rows):
    if file.endswith(".parquet"):
        return parquet(file, rows, "label")
    random = numpy.random.default_rng(0)
    with open(file, "wb") as out:
        for begin in range(0, rows, PIECE):
            table = pyarrow.table(rounded(piece_of(random, min(PIECE, rows - begin), "label")))
            pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=begin == 0))


def tokens(file, size):
    numpy.random.default_rng(0).integers(0, VOCABULARY, size // 2, dtype=numpy.uint16).tofile(file)


def characters(file, size):
    numpy.random.default_rng(0).integers(0, 65, size // 2, dtype=numpy.uint16).tofile(file)


def array(file, size):
    random = numpy.random.default_rng(0)
    rows = size // (4 * WIDTH)
    inputs = numpy.lib.format.open_memmap(file, "w+", numpy.float32, (rows, WIDTH))
    for begin in range(0, rows, PIECE):
        inputs[begin : begin + PIECE] = random.random((min(PIECE, rows - begin), WIDTH), numpy.float32)
    numpy.save(file.replace(".npy", ".targets.npy"), random.random((rows, 1), numpy.float32))


if __name__ == "__main__":
    {one.__name__: one for one in (csv, sheet, parquet, classes, tokens, characters, array)}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
