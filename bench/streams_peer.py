"""The files of bench/streams.py, and its peers.

streams_peer.py make KIND FOLDER COUNT               eight files of a kind: table, lines, images or tokens
streams_peer.py convert PEER KIND FOLDER OUT         the same in the peer's own format; prints the seconds that it took
streams_peer.py serve FOLDER CACHE                   the files below a folder as objects of an S3 server on loopback, until
                                                     stdin ends; prints the environment of its clients
streams_peer.py read PEER KIND PLACE SCRATCH BATCH   trains for an epoch, at most SECONDS; prints a JSON object: "began", the
                                                     time of the first step, and "rate", samples a second after it
PEER: litdata, litdata-parquet, streaming, webdataset, datasets, datasets-files
"""

import glob
import importlib
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile
import time

PARTS, BLOCK, CLASSES, COLUMNS, WORKERS, SECONDS = 8, 1024, 16, 20, 2, 8.0
VOCABULARY = 2  # more would measure the softmax
ENDINGS = {"table": "parquet", "lines": "jsonl", "images": "tar", "tokens": "bin"}
NAMES = [*(f"x{i}" for i in range(COLUMNS - 1)), "y"]


def make_part(kind, file, random, count):
    import pyarrow.parquet
    from image_files import parts

    if kind in ("table", "lines"):
        table = pyarrow.table({name: random.standard_normal(count) for name in NAMES})
        if kind == "table":
            pyarrow.parquet.write_table(table, file, row_group_size=10_000)
        else:
            file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == "tokens":
        random.integers(0, VOCABULARY, count * BLOCK + 1).astype("uint16").tofile(file)
    else:
        with tarfile.open(file, "w") as out:
            for number, image in enumerate(parts((500, 400), count)):
                jpeg = io.BytesIO()
                image.save(jpeg, "JPEG", quality=85)
                for ending, body in {"jpg": jpeg.getvalue(), "cls": b"%d" % (number % CLASSES)}.items():
                    member = tarfile.TarInfo(f"{number:06}.{ending}")
                    member.size = len(body)
                    out.addfile(member, io.BytesIO(body))


def make(kind, folder, count):
    import numpy

    os.makedirs(folder)
    for part in range(PARTS):
        make_part(kind, pathlib.Path(folder, f"part-{part}.{ENDINGS[kind]}"), numpy.random.default_rng(part), int(count) // PARTS)


def samples_of(file):
    """What a part holds, as arrays (or an image's bytes) and the class."""
    import numpy
    import pyarrow.parquet

    if file.endswith(".parquet"):
        table = pyarrow.parquet.read_table(file)
        rows = numpy.stack([column.to_numpy() for column in table.columns], 1).astype("float32")
        yield from ({"x": row[:-1], "y": row[-1:]} for row in rows)
    elif file.endswith(".bin"):
        tokens = numpy.fromfile(file, "uint16")
        yield from ({"x": tokens[i : i + BLOCK + 1]} for i in range(0, len(tokens) - BLOCK, BLOCK))
    else:
        with tarfile.open(file) as shard:
            for image, label in zip(*[iter(shard)] * 2, strict=True):
                yield {"x": shard.extractfile(image).read(), "y": int(shard.extractfile(label).read())}


def for_litdata(file):
    import torch
    from PIL import Image

    for sample in samples_of(file):
        if file.endswith(".tar"):
            yield {"x": Image.open(io.BytesIO(sample["x"])), "y": sample["y"]}
        else:
            yield torch.from_numpy(sample["x"]) if file.endswith(".bin") else {k: torch.from_numpy(v) for k, v in sample.items()}


def convert(peer, kind, folder, out):
    import pyarrow.parquet
    import torch  # noqa: F401, before the clock starts, with the other libraries

    importlib.import_module({"litdata-parquet": "litdata"}.get(peer, peer))
    files = sorted(glob.glob(f"{folder}/*"))
    start = time.perf_counter()
    if peer == "litdata-parquet":  # reads the files themselves, and an index of them
        import litdata

        shutil.copytree(folder, out)
        start = time.perf_counter()
        litdata.index_parquet_dataset(out)
    elif peer == "litdata":
        import litdata

        litdata.optimize(for_litdata, files, out, chunk_bytes="16MB", num_workers=WORKERS, verbose=False)
    elif peer == "datasets":  # tokens have no format of theirs: lists in Parquet
        os.makedirs(out)
        for file in files:
            blocks = pyarrow.array([sample["x"] for sample in samples_of(file)])
            part = f"{out}/{pathlib.Path(file).stem}.parquet"
            pyarrow.parquet.write_table(pyarrow.table({"x": blocks}), part, row_group_size=BLOCK)
    else:
        import streaming

        columns = {"table": {"x": f"ndarray:float32:{COLUMNS - 1}", "y": "ndarray:float32:1"},
                   "images": {"x": "bytes", "y": "int"}, "tokens": {"x": f"ndarray:uint16:{BLOCK + 1}"}}[kind]  # fmt: skip
        with streaming.MDSWriter(out=out, columns=columns, size_limit=1 << 24) as writer:
            for file in files:
                for sample in samples_of(file):
                    writer.write(sample)
    return time.perf_counter() - start


def serve(folder, cache):
    sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests" / "objects"))
    from store import BUCKET, Server, use_cache

    server = Server()
    for file in pathlib.Path(folder).rglob("*"):
        if file.is_file():
            public = {"ACL": "public-read"}  # for those that read by HTTP, which sign nothing
            server.client.upload_file(str(file), BUCKET, str(file.relative_to(folder)), ExtraArgs=public)
    environment = server.environment | use_cache(pathlib.Path(cache)) | {"S3_ENDPOINT_URL": server.address}
    print(json.dumps(environment), flush=True)
    sys.stdin.read()
    server.close()


def loader_of(peer, kind, place, scratch, batch):
    """The batches, shuffled as the peer's documentation does, and the function that gives their tensors."""
    from torch.utils.data import DataLoader

    kept = {"num_workers": WORKERS, "persistent_workers": True}
    if kind == "images":
        from images_peer import PHOTOS, TO_FLOAT, v2

        transform = v2.Compose([v2.ToImage(), *PHOTOS, *TO_FLOAT])
    ending = ENDINGS["table" if kind == "tokens" else kind]  # of the files of datasets and webdataset
    files = [f"{place}/part-{part}.{ending}" for part in range(PARTS)]
    if peer == "webdataset":
        import webdataset

        data = webdataset.WebDataset([f"pipe:curl -s {file}" if "://" in file else file for file in files], shardshuffle=PARTS)
        data = data.shuffle(1000).decode("pil").to_tuple("jpg", "cls").map_tuple(transform, lambda label: label).batched(batch)
        return webdataset.WebLoader(data, batch_size=None, **kept), lambda pair: pair
    if peer.startswith("datasets"):
        import datasets

        name = {"lines": "json", "images": "webdataset"}.get(kind, "parquet")
        data = datasets.load_dataset(name, data_files=files, split="train", streaming=True)
        if kind == "images":
            data = data.shuffle(seed=0, buffer_size=1000).map(lambda one: {"x": transform(one["jpg"]), "y": one["cls"]},
                                                              remove_columns=["jpg", "cls", "__key__", "__url__"])  # fmt: skip
            return DataLoader(data, batch_size=batch, **kept), lambda one: (one["x"], one["y"])
        # Its fastest way to rows: Arrow's tables, without a Python object for each number.
        data = data.with_format("arrow")
        data = data.shuffle(seed=0, buffer_size=10_000 if kind != "tokens" else 1000) if peer == "datasets" else data
        return DataLoader(data.batch(batch), batch_size=None, collate_fn=tensors_of_arrow, **kept), lambda one: one
    if peer == "streaming":
        import streaming

        where = {"remote": place, "local": scratch} if "://" in place else {"local": place}

        class Data(streaming.StreamingDataset):
            def __getitem__(self, index):
                sample = super().__getitem__(index)
                return sample if kind != "images" else {"x": transform(decoded(sample["x"])), "y": sample["y"]}

        loader = DataLoader(Data(**where, shuffle=True, batch_size=batch), batch_size=batch, **kept)
    else:
        import litdata
        from litdata.streaming import downloader

        downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # the loopback server has no certificate
        options = {"cache_dir": scratch} if "://" in place else {}
        if kind == "images":
            options["transform"] = lambda one: {"x": transform(one["x"]), "y": one["y"]}
        if peer == "litdata-parquet":
            from litdata.streaming.item_loader import ParquetLoader

            options["item_loader"], kept["multiprocessing_context"] = ParquetLoader(), "spawn"
        loader = litdata.StreamingDataLoader(litdata.StreamingDataset(place, shuffle=True, **options), batch_size=batch, **kept)
    return loader, tensors_of


def decoded(jpeg):
    from PIL import Image

    return Image.open(io.BytesIO(jpeg)).convert("RGB")


def tensors_of(batch):
    import torch

    if isinstance(batch, torch.Tensor):
        return batch[:, :-1], batch[:, 1:]
    if len(batch) == 1:
        return batch["x"][:, :-1], batch["x"][:, 1:]
    if len(batch) == COLUMNS:
        return torch.stack([batch[name] for name in NAMES[:-1]], 1).float(), batch["y"].float().unsqueeze(1)
    return batch["x"], batch["y"]


def tensors_of_arrow(table):
    import numpy
    import torch

    columns = [column.combine_chunks().flatten() for column in table.columns]
    if len(columns) == 1:
        return tensors_of({"x": torch.from_numpy(columns[0].flatten().to_numpy().reshape(-1, BLOCK + 1))})
    rows = torch.from_numpy(numpy.stack([column.to_numpy() for column in columns], 1).astype("float32"))
    return rows[:, :-1], rows[:, -1:]


def read(peer, kind, place, scratch, batch):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    model = {"images": lambda: nn.Sequential(nn.AvgPool2d(32), nn.Flatten(), nn.Linear(147, CLASSES)),
             "tokens": lambda: nn.Embedding(VOCABULARY, VOCABULARY)}.get(kind, lambda: nn.Linear(COLUMNS - 1, 1))()  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader, tensors = loader_of(peer, kind, place, scratch, int(batch))
    count, start, took = 0, None, 0.0
    for one in loader:
        x, y = tensors(one)
        predicted = model(x.int() if kind == "tokens" else x)
        optimizer.zero_grad()
        if kind in ("images", "tokens"):
            loss = nn.functional.cross_entropy(predicted.flatten(0, -2), y.flatten().long())
        else:
            loss = nn.functional.mse_loss(predicted, y)
        loss.backward()
        optimizer.step()
        if start is None:
            began, start = time.time(), time.perf_counter()
            continue
        count, took = count + len(x), time.perf_counter() - start
        if took > SECONDS:
            break
    print(json.dumps({"began": began, "rate": count / took}), flush=True)
    if took > SECONDS:
        os._exit(0)  # without the workers, which may wait for long to be told that the epoch was left


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "convert":
        print(json.dumps({"seconds": convert(*words)}))
    else:
        {"make": make, "serve": serve, "read": read}[what](*words)
