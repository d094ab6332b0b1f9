"""Writes the tables that experiments/ trains on, from the files of scikit-learn's wheel.

    sample_tables.py SKLEARN_DATA FOLDER     iris.csv, breast_cancer.parquet and diabetes.csv, in FOLDER

The wheel's files have no line of column names, have numbers instead of class names, or have blanks between cells. The
files written here name the columns, and the classes in the last column. No number is changed.
"""

import gzip
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import parquet  # noqa: E402

IRIS = "sepal_length,sepal_width,petal_length,petal_width"
# Properties of each cell in an image. The table has their means, standard errors and the means of the three largest
# values.
CELL = "radius texture perimeter area smoothness compactness concavity concave_points symmetry fractal_dimension".split()
BREAST_CANCER = ",".join(f"{kind}_{name}" for kind in ("mean", "error", "worst") for name in CELL)
DIABETES = "age,sex,bmi,bp,s1,s2,s3,s4,s5,s6"


def with_named_classes(text, columns, target):
    """Replaces class numbers by names. The first line has the numbers of rows and columns and the names of the classes;
    the last cell of each other line is the number of a class."""
    first, *lines = text.splitlines()
    rows, _, *classes = first.split(",")
    assert len(lines) == int(rows), (len(lines), rows)
    table = [f"{columns},{target}"]
    for line in lines:
        cells, number = line.rsplit(",", 1)
        table.append(f"{cells},{classes[int(number)]}")
    return table


def with_target(features, target_values, columns, target):
    """Joins two files of the same rows: one with blanks between the cells, one with a number on each line."""
    rows, values = features.splitlines(), target_values.split()
    assert len(rows) == len(values), (len(rows), len(values))
    return [f"{columns},{target}"] + [",".join([*row.split(), f"{float(value):g}"]) for row, value in zip(rows, values)]


def write_csv(file, lines):
    width = lines[0].count(",")
    assert all(line.count(",") == width for line in lines), file
    file.write_text("\n".join(lines) + "\n")


def write_parquet(file, lines):
    """Writes a table in which all columns except the last contain numbers."""
    names, *rows = (line.split(",") for line in lines)
    *numbers, classes = zip(*rows, strict=True)
    columns = [[float(cell) for cell in column] for column in numbers] + [list(classes)]
    parquet.write(file, dict(zip(names, columns, strict=True)))


def main(data, folder):
    unzipped = {name: gzip.decompress((data / f"{name}.csv.gz").read_bytes()).decode()
                for name in ("diabetes_data_raw", "diabetes_target")}  # fmt: skip
    iris = with_named_classes((data / "iris.csv").read_text(), IRIS, "species")
    cancer = with_named_classes((data / "breast_cancer.csv").read_text(), BREAST_CANCER, "diagnosis")
    diabetes = with_target(unzipped["diabetes_data_raw"], unzipped["diabetes_target"], DIABETES, "progression")
    write_csv(folder / "iris.csv", iris)
    write_parquet(folder / "breast_cancer.parquet", cancer)
    write_csv(folder / "diabetes.csv", diabetes)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
