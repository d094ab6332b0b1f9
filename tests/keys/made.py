"""Data for test_every_key_matters.py, each file a few kilobytes: tables, arrays, images, texts, graphs."""

import array
import gzip
import http.server
import json
import math
import pathlib
import random
import re
import struct
import tarfile
import threading
import zipfile
import zlib

ROWS = 24


def write_npy(path, kind, shape, numbers):
    """`kind`: f, d (floating-point numbers), q (int64)"""
    head = f"{{'descr': '<{ {'f': 'f4', 'd': 'f8', 'q': 'i8'}[kind] }', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array(kind, numbers).tobytes())


def write_safetensors(path, tensors):
    """`tensors`: {name: (type, shape, bytes)}"""
    head, parts = {}, b""
    for name, (kind, shape, content) in tensors.items():
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(parts), len(parts) + len(content)]}
        parts += content
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + parts)


def png(width, height, pixels):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + pixels[3 * width * y : 3 * width * (y + 1)] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")  # fmt: skip


def write_pt2(path, graphs, weights=()):
    """An archive as torch.export.save writes it. `graphs`: {name of the graph: graph_of(…)}"""
    config = {name: {"path_name": f"weight_{number}", "use_pickle": False, "tensor_meta": {
        "dtype": 7, "sizes": [{"as_int": n} for n in sizes], "requires_grad": True, "layout": 7, "storage_offset": {"as_int": 0},
        "strides": [{"as_int": n} for n in [*sizes[1:], 1]]}} for number, (name, sizes, _) in enumerate(weights)}  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, graph in graphs.items():
            archive.writestr(f"net/models/{name}.json", json.dumps(graph))
            of_graph = {"config": config if name == "model" else {}}
            archive.writestr(f"net/data/weights/{name}_weights_config.json", json.dumps(of_graph))
        for number, (_, _, numbers) in enumerate(weights):
            archive.writestr(f"net/data/weights/weight_{number}", array.array("f", numbers).tobytes())


def call(operator, output, **inputs):
    """A node: an input is the name of a tensor, a number, or an argument of the format itself."""
    given = [{"name": k, "arg": {"as_tensor": {"name": v}} if isinstance(v, str) else v} for k, v in inputs.items()]
    return {"target": f"torch.ops.aten.{operator}", "inputs": given, "outputs": [{"as_tensor": {"name": output}}],
            "metadata": {}}  # fmt: skip


def graph_of(nodes, inputs, outputs, parameters=(), keys=None):
    """`inputs`: {name: (type, sizes after the batch's)}; `outputs`: names; `keys`: of a dict that forward returns"""
    batch = {"as_expr": {"expr_str": "Symbol('s77', positive=True)"}}
    leaf = {"type": None, "context": None, "children_spec": []}
    spec = {"type": "builtins.dict", "context": json.dumps(keys), "children_spec": [leaf] * len(outputs)} if keys else leaf
    values = {k: {"dtype": t, "sizes": [batch, *({"as_int": n} for n in sizes)]} for k, (t, sizes) in inputs.items()}
    values |= {name: {"dtype": 7, "sizes": []} for name in ("loss", "level") if name in outputs}
    return {
        "graph_module": {
            "graph": {"nodes": nodes, "tensor_values": values},
            "signature": {
                "input_specs": [{"parameter": {"arg": {"name": p}, "parameter_name": n}} for p, n in parameters]
                + [{"user_input": {"arg": {"as_tensor": {"name": name}}}} for name in inputs],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": name}}}} for name in outputs]},
            "module_call_graph": [{"fqn": "", "signature": {
                "out_spec": json.dumps([1, spec]), "forward_arg_names": list(inputs)}}]},
        "range_constraints": {"s77": {"min_val": 1, "max_val": 64}},
        "schema_version": {"major": 8, "minor": 17}}  # fmt: skip


def write_graphs(folder):
    fc = [("p_w", "fc.weight"), ("p_b", "fc.bias")]
    weights = [("fc.weight", (3, 4), [(n % 7 - 3) / 10 for n in range(12)]), ("fc.bias", (3,), [0, 0.1, 0.2])]
    linear = call("linear.default", "y0", input="x", weight="p_w", bias="p_b")
    net = graph_of([linear], {"x": (7, [4])}, ["y0"], fc)

    def sizes(*of):
        return {"as_ints": list(of)}

    init = graph_of([call("rand.default", "w", size=sizes(3, 4)), call("rand.default", "b", size=sizes(3))], {}, ["w", "b"],
                    keys=["fc.weight", "fc.bias"])  # fmt: skip
    write_pt2(folder / "net.pt2", {"model": net, "init": init}, weights)
    write_pt2(folder / "other.pt2", {"model": net}, [weights[0], ("fc.bias", (3,), [3, 2, 1])])
    squashed = graph_of([linear, call("tanh.default", "y1", self="y0")], {"x": (7, [4])}, ["y1"], fc)
    write_pt2(folder / "squashed.pt2", {"model": squashed}, weights)
    unused = graph_of([linear], {"x": (7, [4])}, ["y0"], [*fc, ("p_u", "unused")])
    write_pt2(folder / "unused.pt2", {"model": unused}, [*weights, ("unused", (2,), [1, 2])])
    cost = [linear, call("cross_entropy_loss.default", "loss", self="y0", target="y")]
    whole = graph_of(cost, {"x": (7, [4]), "y": (5, [])}, ["loss", "y0"], fc, keys=["loss", "logits"])
    write_pt2(folder / "whole.pt2", {"model": whole}, weights)
    for name, more in {"loss": [], "double": [call("mul.Tensor", "loss", self="mean", other={"as_float": 2.0})]}.items():
        mean = call("cross_entropy_loss.default", "mean" if more else "loss", self="y0", target="y")
        graph = graph_of([mean, *more], {"y0": (7, [3]), "y": (5, [])}, ["loss"])
        write_pt2(folder / f"{name}.pt2", {"model": graph})


def thrift(*fields):
    """A struct in Thrift's compact protocol. A field is (id, value): a number, (its own type, number), bytes, a struct as
    bytearray, or a list of these."""

    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

    def encoded(value):
        if isinstance(value, list):
            return 9, bytes([len(value) << 4 | encoded(value[0])[0]]) + b"".join(encoded(one)[1] for one in value)
        if isinstance(value, bytearray):
            return 12, bytes(value)
        if isinstance(value, bytes):
            return 8, varint(len(value)) + value
        kind, number = value if isinstance(value, tuple) else (5, value)
        return kind, varint(number << 1)

    content, last = b"", 0
    for number, value in fields:
        kind, encoding = encoded(value)
        content += bytes([(number - last) << 4 | kind]) + encoding
        last = number
    return bytearray(content + b"\0")


def write_parquet(path, names, columns):
    """Columns of text or of numbers; None is null. All numbers of the footer are 64 bits where Parquet has i64 (6)."""
    content, chunks, elements = b"PAR1", [], [thrift((4, b"schema"), (5, len(names)))]
    for name, column in zip(names, columns):
        text = isinstance(column[0], str)
        known = [cell for cell in column if cell is not None]
        levels = sum((cell is not None) << n for n, cell in enumerate(column)).to_bytes(len(column) // 8, "little")
        levels = bytes([len(column) // 8 << 1 | 1]) + levels
        page = struct.pack("<I", len(levels)) + levels + b"".join(
            struct.pack("<I", len(cell)) + cell.encode() if text else struct.pack("<d", cell) for cell in known)  # fmt: skip
        head = thrift((1, 0), (2, len(page)), (3, len(page)), (5, thrift((1, len(column)), (2, 0), (3, 3), (4, 3))))
        kind, size, place = 6 if text else 5, (6, len(head) + len(page)), (6, len(content))
        chunks.append(thrift((2, place), (3, thrift((1, kind), (2, [0, 3]), (3, [name.encode()]), (4, 0), (5, (6, len(column))),
                                                    (6, size), (7, size), (9, place)))))  # fmt: skip
        elements.append(thrift((1, kind), (3, 1), (4, name.encode()), *([(6, 0)] if text else [])))
        content += head + page
    rows = (6, len(columns[0]))
    footer = thrift((1, 1), (2, elements), (3, rows), (4, [thrift((1, chunks), (2, (6, len(content))), (3, rows))]))
    path.write_bytes(content + footer + struct.pack("<I", len(footer)) + b"PAR1")


def write_tables(folder, draw):
    """rows, more with other numbers, gaps and blank with a missing cell, two with two classes, dated with dates, each in
    three formats"""
    names = ["city", *"abcdtwy"]
    for name in ("rows", "more", "gaps", "blank", "two", "dated"):
        rows = [["xyz"[draw.randrange(3)], *(draw.randrange(-20, 20) / 4 for _ in range(4)), n % 3, draw.randrange(1, 9) / 4,
                 draw.randrange(-9, 9) / 2] for n in range(ROWS)]  # fmt: skip
        if name == "gaps":
            rows[5][2] = None
        if name == "blank":
            rows[5][0] = None
        for n, row in enumerate(rows):
            if name == "two":
                row[5] = n % 2
            if name == "dated":
                row[0] = f"2024-02-{1 + n * 5 % 28:02}"
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in (names, *rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows))
        write_parquet(folder / f"{name}.parquet", names, list(zip(*rows)))
    text = (folder / "rows.csv").read_text()
    (folder / "bare.csv").write_text(text.split("\n", 1)[1])
    (folder / "semicolon.csv").write_text(text.replace(",", ";"))
    (folder / "comma.csv").write_text(text.replace(",", ";").replace(".", ","))
    (folder / "thousands.csv").write_text(re.sub(r"\.(\d+)", lambda found: f".{found[1]:0<3}", text.replace(",", ";")))


def write_images(folder, draw):
    cifar = [(f"cifar{size}{end}", classes, numbers) for end in ("", "b")
             for size, classes, numbers in ((10, 1, range(1, 6)), (100, 2, ["train"]))]  # fmt: skip
    for name, classes, numbers in cifar:
        (folder / name).mkdir()
        for number in [*numbers, "test"]:
            data = b"".join(bytes([draw.randrange(4) for _ in range(classes)]) + draw.randbytes(3072) for _ in range(4))
            file = f"{number}.bin" if classes == 2 else "test_batch.bin" if number == "test" else f"data_batch_{number}.bin"
            (folder / name / file).write_bytes(data)
    for name, count in (("images", 3), ("others", 3)):
        pixels = draw.randbytes(16 * 64)
        (folder / f"{name}.idx").write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 16, 8, 8) + pixels)
        (folder / f"{name}.labels").write_bytes(
            bytes([0, 0, 8, 1]) + struct.pack(">I", 16) + bytes(n % count if name == "images" else (n + 1) % count for n in range(16)))
    for name in ("pngs", "other_pngs", "bad_pngs"):
        with tarfile.open(folder / f"{name}.tar", "w") as shard:
            for number in range(16):
                parent = folder / name / str(number % 3)
                parent.mkdir(parents=True, exist_ok=True)
                image = png(8, 8, draw.randbytes(192))
                if name == "bad_pngs" and number == 15:
                    image = image[:60] + b"damaged"
                (parent / f"{number:02}.png").write_bytes(image)
                for ending, content in (("png", image), ("b.png", png(8, 8, draw.randbytes(192))),
                                        ("cls", b"%d" % (number % 3)), ("cls2", b"%d" % (number // 6))):  # fmt: skip
                    path = folder / "member"
                    path.write_bytes(content)
                    shard.add(path, f"{number:02}.{ending}")


class _Rows(http.server.BaseHTTPRequestHandler):
    """Serves a table."""

    def do_GET(self):  # noqa: N802
        body = b"x,t\n" + b"".join(b"%d,%d\n" % (i, i % 3) for i in range(24))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


_SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Rows)
threading.Thread(target=_SERVER.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{_SERVER.server_port}/rows.csv"


def write_all(folder):
    folder = pathlib.Path(folder)
    draw = random.Random(5)
    write_tables(folder, draw)
    write_images(folder, draw)
    write_graphs(folder)

    def floats(count, scale=1.0):
        return [draw.uniform(-1, 1) * scale for _ in range(count)]

    shapes = {"flat": (ROWS, 4), "rows": (ROWS, 8), "series": (ROWS, 3, 10), "maps": (ROWS, 3, 6, 6)}
    numbers = {name: floats(math.prod(shape)) for name, shape in shapes.items()}
    for name, shape in shapes.items():
        write_npy(folder / f"{name}.npy", "f", shape, numbers[name])
    tiny = floats(ROWS * 4, 1e-39)
    write_npy(folder / "tiny.npy", "f", (ROWS, 4), tiny)
    write_npy(folder / "broken.npy", "f", (ROWS, 4), [float("nan"), *numbers["flat"][1:]])
    write_npy(folder / "indices.npy", "q", (ROWS, 8), [draw.randrange(6) for _ in range(ROWS * 8)])
    classes = [n % 3 for n in range(ROWS)]
    write_npy(folder / "y.npy", "q", (ROWS,), classes)
    write_npy(folder / "y2.npy", "q", (ROWS,), classes[::-1])
    write_npy(folder / "labels.npy", "f", (ROWS, 3), [float(draw.random() < 0.4) for _ in range(ROWS * 3)])
    write_npy(folder / "reals.npy", "f", (ROWS, 3), floats(ROWS * 3, 3.0))
    weights = [draw.uniform(0.5, 2) for _ in range(ROWS)]
    write_npy(folder / "w.npy", "f", (ROWS,), weights)
    for name, source in (("arrays", numbers["flat"]), ("arrays2", numbers["flat"][::-1])):
        parts = {"x": source, "x2": source[::-1], "w": weights}
        with zipfile.ZipFile(folder / f"{name}.npz", "w") as archive:
            for part in parts:
                write_npy(folder / "part.npy", "f", (ROWS,) if part == "w" else (ROWS, 4), parts[part])
                archive.write(folder / "part.npy", f"{part}.npy")
            for part, file in {"y": "y.npy", "y2": "y2.npy"}.items():
                archive.write(folder / file, f"{part}.npy")
        tensors = {k: ("F32", [ROWS] if k == "w" else [ROWS, 4], array.array("f", v).tobytes()) for k, v in parts.items()}
        tensors |= {k: ("I64", [ROWS], array.array("q", v).tobytes()) for k, v in (("y", classes), ("y2", classes[::-1]))}
        write_safetensors(folder / f"{name}.safetensors", tensors)
    for name in ("digits", "digits2"):
        rows = "".join(",".join(str(draw.randrange(17)) for _ in range(64)) + f",{n % 10}\n" for n in range(30))
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(rows.encode()))
    for name in ("words", "words2"):
        (folder / f"{name}.txt").write_text("".join(draw.choice("abcdé ") for _ in range(160)))
        (folder / f"{name}.bin").write_bytes(array.array("H", [0 if n % 4 else draw.randrange(9) for n in range(160)]).tobytes())
    for name in ("first", "second"):
        write_safetensors(folder / f"{name}.safetensors", {
            "old.0.weight": ("F32", [4, 4], array.array("f", floats(16)).tobytes())})  # fmt: skip
    (folder / "part.toml").write_text("seed = 1\n")
    (folder / "broken.cpp").write_text('#error "this file was read"\n')
