"""Writes the handwritten digits of scikit-learn's wheel as images, for experiments/digits_images.toml.

    sample_images.py DIGITS_CSV_GZ FOLDER     FOLDER/<digit>/<number>.png, 8x8 pixels of 8-bit gray

A line of the table contains 64 gray values from 0 (paper) to 16 (ink), row by row, and the digit.
"""

import gzip
import pathlib
import struct
import sys
import zlib

SIDE = 8
INK = 16


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(rows):
    """Returns a PNG of 8-bit gray without row filters."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def main(table, folder):
    for digit in range(10):
        (folder / str(digit)).mkdir(parents=True)
    for number, line in enumerate(gzip.decompress(table.read_bytes()).decode().splitlines()):
        *values, digit = (int(float(cell)) for cell in line.split(","))
        gray = [round(value * 255 / INK) for value in values]
        rows = [gray[begin : begin + SIDE] for begin in range(0, SIDE * SIDE, SIDE)]
        (folder / str(digit) / f"{number:04}.png").write_bytes(png(rows))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
