"""Writes small Parquet files: columns of doubles and of text without missing cells, in one row group, not compressed.

The set-up has no package that writes Parquet. The format is described in https://parquet.apache.org/docs/file-format/;
its headers are structs in Thrift's compact protocol.
"""

import struct

DOUBLE, BYTE_ARRAY = 5, 6  # types of columns
PLAIN, RLE = 0, 3  # encodings
REQUIRED, UTF8, DATA_PAGE, UNCOMPRESSED = 0, 0, 0, 0
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12  # types of Thrift


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def thrift(kind, value):
    """Encodes a value. A struct is a list of (field, type, value), a list is (type, values)."""
    if kind in (I32, I64):
        return varint(value << 1)  # zigzag encoding of a non-negative number
    if kind == BINARY:
        return varint(len(value.encode())) + value.encode()
    if kind == LIST:
        item, values = value
        size = bytes([len(values) << 4 | item]) if len(values) < 15 else bytes([0xF0 | item]) + varint(len(values))
        return size + b"".join(thrift(item, one) for one in values)
    out, last = b"", 0
    for field, item, one in value:
        out += bytes([field - last << 4 | item]) + thrift(item, one)
        last = field
    return out + b"\0"


def page(cells):
    if isinstance(cells[0], float):
        return DOUBLE, struct.pack(f"<{len(cells)}d", *cells)
    return BYTE_ARRAY, b"".join(struct.pack("<I", len(cell.encode())) + cell.encode() for cell in cells)


def write(file, columns):
    """Writes a table. `columns` maps each name to a list of cells, all floats or all texts."""
    rows = len(next(iter(columns.values())))
    out = b"PAR1"
    schema = [[(4, BINARY, "schema"), (5, I32, len(columns))]]
    chunks = []
    for name, cells in columns.items():
        kind, data = page(cells)
        values = [(1, I32, rows), (2, I32, PLAIN), (3, I32, RLE), (4, I32, RLE)]
        head = thrift(STRUCT, [(1, I32, DATA_PAGE), (2, I32, len(data)), (3, I32, len(data)), (5, STRUCT, values)])
        size = len(head) + len(data)
        about = [(1, I32, kind), (2, LIST, (I32, [PLAIN])), (3, LIST, (BINARY, [name])), (4, I32, UNCOMPRESSED),
                 (5, I64, rows), (6, I64, size), (7, I64, size), (9, I64, len(out))]  # fmt: skip
        chunks.append([(2, I64, len(out)), (3, STRUCT, about)])
        schema.append([(1, I32, kind), (3, I32, REQUIRED), (4, BINARY, name)] + [(6, I32, UTF8)] * (kind == BYTE_ARRAY))
        out += head + data
    group = [(1, LIST, (STRUCT, chunks)), (2, I64, len(out) - 4), (3, I64, rows)]
    footer = thrift(STRUCT, [(1, I32, 1), (2, LIST, (STRUCT, schema)), (3, I64, rows), (4, LIST, (STRUCT, [group]))])
    file.write_bytes(out + footer + struct.pack("<I", len(footer)) + b"PAR1")
