"""Data at URLs: runs train the bits of local files, and no fault of a server changes them."""

import gzip
import http.server
import io
import json
import os
import pathlib
import random
import signal
import struct
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse
import zlib

import numpy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import PROGRAM, Command, events_in, sets, until  # noqa: E402
from store import BUCKET, KEY, SECRET, Server, use_cache  # noqa: E402

SERVER = Server()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="urls "))
(FOLDER / "files").mkdir()
ENVIRONMENT = SERVER.environment | use_cache(FOLDER / "cache")
EXPERIMENT = """
dataset     = { name = "csv", path = "%s", target = "y", normalise = "standard" }
model       = { name = "mlp", hidden = [8] }
loss        = "cross_entropy"
optimizer   = { name = "adam", lr = 0.01 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 3
threads     = 1
validation  = { split = 0.25 }
"""


def table(rows, seed):
    draw = random.Random(seed)
    lines = ["a,b,c,y"]
    for _ in range(rows):
        a, b, c = (round(draw.gauss(0, 1), 4) for _ in range(3))
        lines.append(f"{a},{b},{c},{'yes' if a + b > c else 'no'}")
    return ("\n".join(lines) + "\n").encode()


def start(*words):
    return Command([PROGRAM, *words], FOLDER, ENVIRONMENT)


def run(*words, exits=0):
    command = start(*words)
    assert command.wait(240) == exits, command
    return command


def experiment(name, path, **settings):
    text = EXPERIMENT % path
    (FOLDER / f"{name}.toml").write_text(text.replace('"csv"', '"jsonl"') if ".jsonl" in path else text)
    return ["run", f"{name}.toml", *sets(**settings)]


def newest(name):
    return max((FOLDER / "results" / name).glob("2*"), key=lambda run: run.stat().st_ctime_ns)


def weights(directory):
    return (directory / "checkpoints/latest/model.safetensors").read_bytes()


def state(directory):
    return json.loads((directory / "checkpoints/latest/state.json").read_text())


def trained_here(name, data, **settings):
    """The weights of a run with local files."""
    for file, body in data.items():
        (FOLDER / "files" / file).write_bytes(body)
    run(*experiment(name, "files/" + ("*.csv" if len(data) > 1 else next(iter(data))), **settings))
    return weights(newest(name))


def test_an_object_trains_the_bits_of_its_file():
    body = table(120, 1)
    SERVER.put("tables/one.csv", body)
    local = trained_here("local", {"one.csv": body})
    run(*experiment("remote", f"s3://{BUCKET}/tables/one.csv"))
    directory = newest("remote")
    assert weights(directory) == local
    (data,) = [file for file in state(directory)["data"] if file["key"] == "dataset.path"]
    etag = SERVER.client.head_object(Bucket=BUCKET, Key="tables/one.csv")["ETag"]
    assert data == {"key": "dataset.path", "path": f"s3://{BUCKET}/tables/one.csv", "bytes": len(body), "etag": etag}
    # A second run reads the copy, and each read asks for the version that was looked at.
    assert SERVER.whole_reads("one.csv") == 1
    run(*experiment("remote", f"s3://{BUCKET}/tables/one.csv"))
    assert SERVER.whole_reads("one.csv") == 1
    assert all(match == etag for _, path, asked, match in SERVER.requests if asked not in ("", "bytes=0-0")), SERVER.requests
    # Reproduce, predict and eval read the copy too.
    assert "same" in run("reproduce", directory).printed()
    here = run("predict", newest("local"), "files/one.csv").printed()
    assert run("predict", directory, f"s3://{BUCKET}/tables/one.csv").printed() == here
    assert run("eval", directory).printed().split("step")[-1] == run("eval", newest("local")).printed().split("step")[-1]


def test_a_pattern_stands_for_the_objects_that_match_sorted():
    data = {f"part{i}.csv": table(40 + i, i) for i in range(3)}
    for name in reversed(data):
        SERVER.put(f"many/{name}", data[name])
    SERVER.put("many/deeper/part0.csv", b"not this one")
    SERVER.put("many/part0.txt", b"nor this one")
    (FOLDER / "files/one.csv").unlink(missing_ok=True)
    local = trained_here("parts", {f"p{i}.csv": body for i, body in enumerate(data.values())}, seed=3)
    run(*experiment("pattern", f"s3://{BUCKET}/many/part*.csv", seed=3))
    assert weights(newest("pattern")) == local
    assert [file["path"].rsplit("/")[-1] for file in state(newest("pattern"))["data"]] == list(data)
    assert "matches no object" in run(*experiment("none", f"s3://{BUCKET}/many/*.parquet"), exits=2).said()


def test_a_pattern_is_listed_in_parts():
    names = ["a+b.csv", "a b.csv", "ä&amp;.csv", "a%20.csv"]
    for i, name in enumerate(names):
        SERVER.put(f"strange names/{name}", table(30 + i, i))
    SERVER.put("strange names/", b"")
    lists = []

    def one_by_one(environ, answer):
        if "list-type" not in environ["QUERY_STRING"]:
            return None
        lists.append(environ["QUERY_STRING"])
        if len(lists) == 2:
            return "500 Internal Server Error", [("Content-Type", "text/html")], b"no XML"
        environ["QUERY_STRING"] += "&max-keys=1"
        return None

    path = f"s3://{BUCKET}/strange names/*.csv"
    with SERVER.spoilt(one_by_one):
        run(*experiment("parts", path))
    assert len(lists) > len(names), lists
    assert [file["path"].rsplit("/")[-1] for file in state(newest("parts"))["data"]] == sorted(names, key=str.encode)
    listing = b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken></ListBucketResult>"

    def back_and_forth(environ, _):
        return "list-type" in environ["QUERY_STRING"] and ("200 OK", [], listing % (b"b" if "token=a" in environ["QUERY_STRING"] else b"a"))

    with SERVER.spoilt(back_and_forth):
        assert "has no end" in run(*experiment("parts", path), exits=2).said()
    SERVER.put("strange names/x?.csv", table(30, 1))
    assert 'strange names/x?.csv: matches a key with "?"' in run(*experiment("parts", path), exits=2).said()
    SERVER.client.delete_object(Bucket=BUCKET, Key="strange names/x?.csv")
    # An answer that is no XML: a portal on the way.
    with SERVER.spoilt(lambda environ, _: "list-type" in environ["QUERY_STRING"] and ("403 Forbidden", [], b"<html>")):
        assert "the server answers 403" in run(*experiment("parts", path), exits=2).said()
    with SERVER.spoilt(lambda environ, _: "list-type" in environ["QUERY_STRING"] and ("200 OK", [], b"<html></html>")):
        assert "is no listing of a bucket" in run(*experiment("parts", path, loader__retries=0), exits=2).said()


def test_messages_name_the_url():
    SERVER.put("bad.csv", b"a,b,c,y\n" + b"1,2,3,no\n" * 20 + b"1,x,3,yes\n")
    assert f"s3://{BUCKET}/bad.csv:22: column" in run(*experiment("bad", f"s3://{BUCKET}/bad.csv"), exits=2).said()
    rare = b"a,b,c,y\n" + b"".join(b"%d,2,%d,no\n" % (i % 5, i % 3) for i in range(60))
    SERVER.put("rare.csv", rare)
    said = run("plan", "bad.toml", *sets(dataset__path=f'"s3://{BUCKET}/rare.csv"'))
    assert "objects/" not in said.printed() + said.said(), said


def test_a_changed_object_is_noticed():
    SERVER.put("grows.csv", table(60, 5))
    run(*experiment("grows", f"s3://{BUCKET}/grows.csv"))
    directory = newest("grows")
    SERVER.put("grows.csv", table(60, 5))
    run("resume", directory, *sets(epochs=4))
    SERVER.put("grows.csv", table(60, 6))
    refused = run("resume", directory, *sets(epochs=5), exits=2).said()
    assert f"s3://{BUCKET}/grows.csv" in refused and "--data-changed" in refused, refused
    run("resume", directory, "--data-changed", *sets(epochs=5, validation__split=0), exits=0)


def test_secrets_are_written_nowhere():
    SERVER.put("secret.csv", table(50, 7))
    signed = SERVER.client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "secret.csv"})
    query = signed.split("?")[1]
    command = run(*experiment("signed", signed))
    directory = newest("signed")
    assert query.split("&")[0] in (directory / "config.toml").read_text()
    assert state(directory)["data"][0]["path"] == signed.split("?")[0]
    failed = run(*experiment("wrong", signed.replace("secret.csv", "gone.csv")), exits=2)
    for text in (command.said(), command.printed(), failed.said()):
        assert "Signature" not in text, text
    for file in (FOLDER / "results").rglob("*"):
        if not file.is_file() or file.name == "config.toml" or "settings" in str(file):
            continue
        for secret in (SECRET, KEY, query):
            assert secret.encode() not in file.read_bytes(), (file, secret)
    refused = run(*experiment("user", "https://me:word@localhost/t.csv"), exits=2).said()
    assert "names a user" in refused and "word" not in refused, refused
    refused = run("predict", directory, "https://me:word@localhost/t.csv", exits=2).said()
    assert "names a user" in refused and "word" not in refused, refused
    wrong = run(*experiment("typo", signed, dataset__headers="true"), exits=2).said()
    assert "Signature" not in wrong and KEY not in wrong, wrong


def test_arrays_are_read_from_urls_too():
    for name, values in ("x", numpy.arange(60.0).reshape(20, 3)), ("y", numpy.arange(20) % 2):
        body = io.BytesIO()
        numpy.save(body, values)
        (FOLDER / f"files/{name}.npy").write_bytes(body.getvalue())
        SERVER.put(f"arrays/{name}.npy", body.getvalue())
    arrays = EXPERIMENT.replace('"csv", path = "%s", target = "y", normalise = "standard"', '"npy", inputs = "%s/x.npy", targets = "%s/y.npy"')
    for name, place in ("arrays_here", "files"), ("arrays_there", f"s3://{BUCKET}/arrays"):
        (FOLDER / f"{name}.toml").write_text(arrays % (place, place))
        run("run", f"{name}.toml")
    assert weights(newest("arrays_here")) == weights(newest("arrays_there"))


def test_only_data_files_are_urls():
    (FOLDER / "folder.toml").write_text(
        EXPERIMENT.replace('"csv", path = "%s", target = "y", normalise = "standard"', '"image_folder", path = "s3://data/x"'))
    assert "takes a file, not a URL" in run("run", "folder.toml", exits=2).said()


def pieces():
    return list((FOLDER / "cache/ddp-exp/objects/pieces").glob("*"))


def test_streams_train_the_bits_of_local_files_from_a_small_cache():
    body = table(20000, 71)
    head, rows = body.split(b"\n", 1)
    body = head + b"\n" + rows * 16  # three blocks, and as many pieces
    lines = b"".join(b'{"a":%s,"b":%s,"c":%s,"y":"%s"}\n' % tuple(row.split(b",")) for row in rows.split()) * 8
    settings = {"epochs": 2, "batch_size": 4096, "loader__stream": "true", "loader__window": 2, "seed": 5,
                "logical_ranks": 2, "checkpoint__save_every_steps": 20, "checkpoint__keep_last": 9}  # fmt: skip
    limit = 10 << 20
    for name, data in {"s.csv": body, "s.csv.gz": gzip.compress(body, 1), "s.jsonl": lines}.items():
        SERVER.put(f"streams/{name}", data)
        local = trained_here(f"here_{name}", {name: data}, **settings)
        (FOLDER / "files" / name).unlink()
        url = f"s3://{BUCKET}/streams/{name}"
        run(*experiment(f"there_{name}", url, loader__cache=f'"{limit}"', **settings))
        assert weights(newest(f"there_{name}")) == local, name
        assert 0 < sum(piece.stat().st_size for piece in pieces()) <= limit
        assert state(newest(f"there_{name}"))["data"][0]["path"] == url
    # A damaged piece is fetched again.
    for piece in pieces():
        content = bytearray(piece.read_bytes())
        content[len(content) // 2] ^= 1
        piece.write_bytes(content)
    run(*experiment("there_s.jsonl", f"s3://{BUCKET}/streams/s.jsonl", loader__cache=f'"{limit}"', **settings))
    assert weights(newest("there_s.jsonl")) == local
    # A resumed stream goes on where it was.
    run("resume", newest("there_s.jsonl"), "--from", "20", *sets(device_pool='["cpu"]'))
    assert weights(newest("there_s.jsonl")) == local


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


def shard(images, seed):
    draw, out = numpy.random.default_rng(seed), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i in range(images):
            kind = int(draw.integers(3))
            pixels = (draw.integers(0, 99, (48, 48, 3)) + 50 * kind).astype("uint8")
            for name, body in (f"{i}.png", png(pixels)), (f"{i}.cls", b"%d" % kind):
                member = tarfile.TarInfo(name)
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
    return out.getvalue()


def test_tokens_and_shards_are_streamed_too():
    tokens = numpy.random.default_rng(3).integers(0, 50, 300_000).astype("uint16").tobytes()
    kinds = {
        "t.bin": (tokens, 'dataset = { name = "tokens", path = "%s", block_size = 8 }\n'
                          'model = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 8 }\nbatch_size = 256\n'),
        "s.tar": (shard(900, 4), 'dataset = { name = "tar", path = "%s", transforms = [{ type = "RandomCrop", size = 40 }] }\n'
                                 'model = { name = "sequential", layers = [{ type = "Flatten" }, '
                                 '{ type = "Linear", in_features = 4800, out_features = 3 }] }\nbatch_size = 32\n'),
    }  # fmt: skip
    rest = EXPERIMENT.split("\n", 3)[3].replace("batch_size  = 8\n", "") + "loader = { stream = true, window = 2 }\n"
    for name, (body, text) in kinds.items():
        (FOLDER / "files" / name).write_bytes(body)
        SERVER.put(f"streams/{name}", body)
        bits = []
        for place, more in (("files", {}), (f"s3://{BUCKET}/streams", {}), ("files", {"loader__shuffle": "false"}),
                            ("files", {"loader__shuffle": "false", "loader__stream": "false"})):  # fmt: skip
            (FOLDER / "kind.toml").write_text(text % f"{place}/{name}" + rest)
            run("run", "kind.toml", *sets(**more))
            bits.append(weights(newest("kind")))
        assert bits[0] == bits[1] != bits[2] == bits[3], name


def test_a_stream_that_fails_ends_after_a_save():
    url = long_table()
    settings = {"epochs": 3, "batch_size": 4096, "loader__stream": "true", "loader__window": 1, "loader__retries": 1,
                "loader__cache": '"20MB"', "checkpoint__save_every": 0}  # fmt: skip
    words = experiment("fails", url, **settings)
    run(*words)
    whole = weights(newest("fails"))
    for epoch in events_in(newest("fails") / "metrics.jsonl", "epoch"):
        assert epoch["fetched_bytes"] > 20 << 20 and epoch["retries"] == 0, epoch
    for answer in ("403 Forbidden", "503 Slow Down", "412 Precondition Failed"):
        run_id = answer.split()[0]

        def refuse(environ, _, run_id=run_id, answer=answer):
            steps = events_in(FOLDER / f"results/fails/{run_id}/metrics.jsonl", "step")
            return (answer, [], b"") if steps and environ.get("HTTP_RANGE") != "bytes=0-0" else None

        with SERVER.spoilt(refuse):
            said = run(*words, "--run-id", run_id, exits=1).said()
        assert url in said, said
        directory = FOLDER / "results/fails" / run_id
        assert 0 < state(directory)["step"] < 600, state(directory)["step"]
        run("resume", directory)
        assert weights(directory) == whole


def long_table():
    """Returns the URL of an object of 40 MB."""
    head, rows = table(20000, 71).split(b"\n", 1)
    SERVER.put("long.csv", head + b"\n" + rows * 80)
    return f"s3://{BUCKET}/long.csv"


def test_a_resume_reads_only_the_blocks_of_its_window():
    words = experiment("long", long_table(), steps=3, loader__stream="true", loader__window=1, loader__workers=1)
    run(*words, "--unset", "epochs", "--unset", "validation")
    for piece in pieces():
        piece.unlink()
    before = len(SERVER.requests)
    run("resume", newest("long"), *sets(steps=4))
    asked = [line[2].removeprefix("bytes=").split("-") for line in SERVER.requests[before:]]
    read = sum(int(last) - int(first) + 1 for first, last in asked)
    assert 1 << 20 < read < 17 << 20, read  # a block lies in two pieces of 4 MiB, or one


def test_images_that_do_not_come_are_no_bad_images():
    SERVER.put("skips.tar", shard(6000, 8))
    (FOLDER / "skips.toml").write_text(
        f'dataset = {{ name = "tar", path = "s3://{BUCKET}/skips.tar", on_bad = "skip" }}\n'
        'model = { name = "sequential", layers = [{ type = "Flatten" }, { type = "Linear", in_features = 6912, out_features = 3 }] }\n'
        + EXPERIMENT.split("\n", 3)[3]
        + 'loader = { stream = true, window = 1, retries = 0, cache = "5MB" }\n')  # fmt: skip
    run("run", "skips.toml", "--run-id", "whole")
    steps = FOLDER / "results/skips/failed/metrics.jsonl"
    refuse = lambda *_: ("404 Not Found", [], b"") if events_in(steps, "step") else None  # noqa: E731
    with SERVER.spoilt(refuse):
        said = run("run", "skips.toml", "--run-id", "failed", exits=1).said()
    assert "skips.tar" in said and "404" in said, said
    run("resume", "skips/failed")
    assert weights(FOLDER / "results/skips/failed") == weights(FOLDER / "results/skips/whole")


def test_a_stop_signal_during_an_outage_saves_at_once():
    words = experiment("outage", long_table(), batch_size=4096, loader__stream="true", loader__window=1,
                       loader__retries=60, loader__cache='"9MB"', checkpoint__save_every=0)  # fmt: skip
    run(*words, "--run-id", "whole")
    directory, asked = FOLDER / "results/outage/stopped", []

    def away(*_):
        if events_in(directory / "metrics.jsonl", "step"):
            asked.append(1)
            return "503 Slow Down", [], b""
        return None

    with SERVER.spoilt(away):
        command = start(*words, "--run-id", "stopped")
        until(lambda: len(asked) > 4 or command.ended(), "the outage")
        command.kill(signal.SIGTERM)
        assert command.wait(60) == 143 and "saved after step" in command.said(), command
    run("resume", directory)
    assert weights(directory) == weights(FOLDER / "results/outage/whole")


def test_a_first_batch_that_does_not_come_ends_with_2():
    config = FOLDER / "results/fails/none/config.toml"
    settings = {"batch_size": 100_000, "loader__stream": "true", "loader__window": 1, "loader__retries": 0,
                "loader__cache": '"9MB"'}  # fmt: skip
    words = experiment("fails", long_table(), **settings)
    with SERVER.spoilt(lambda *_: ("404 Not Found", [], b"") if config.exists() else None):
        said = run(*words, "--run-id", "none", exits=2).said()
    assert "404" in said and "long.csv" in said, said


def measured(directory):
    """All epochs and validations of a run, without their times."""
    timed = ("time", "samples_per_second", "fetched_bytes", "retries")
    kept = [event for kind in ("epoch", "validation") for event in events_in(directory / "metrics.jsonl", kind)]
    return [{k: v for k, v in event.items() if not k.startswith("seconds") and k not in timed} for event in kept]


def test_a_validation_that_does_not_come_is_made_up_by_the_resume():
    url = long_table()
    settings = {"batch_size": 4096, "loader__stream": "true", "loader__window": 1, "loader__retries": 0,
                "loader__cache": '"20MB"', "checkpoint__save_every": 0, "validation__split": 0.3,
                "scheduler": '{ name = "plateau", patience = 0 }'}  # fmt: skip
    # At the end of an epoch, of the run, and inside an epoch. One request fails, and so one of the two ranks.
    for number, (epochs, every, from_step) in enumerate(((2, "1", 1), (1, "1", 1), (1, '"50 steps"', 50))):
        words = experiment("unmeasured", url, epochs=epochs, validation__every=every, **settings)
        run(*words, "--run-id", f"whole{number}")
        whole, failed = FOLDER / f"results/unmeasured/whole{number}", FOLDER / f"results/unmeasured/failed{number}"
        of_epoch = state(whole)["step"] // epochs
        at, refused = of_epoch if every == "1" else from_step, []

        def refuse(environ, _, failed=failed, at=at, refused=refused):
            steps = events_in(failed / "metrics.jsonl", "step")
            if refused or not steps or steps[-1]["step"] < at or environ.get("HTTP_RANGE") == "bytes=0-0":
                return None
            refused.append(True)
            return "404 Not Found", [], b""

        with SERVER.spoilt(refuse):
            run(*words, "--run-id", failed.name, exits=1)
        assert state(failed)["step"] == at and state(failed)["validation_due"], state(failed)
        run("resume", failed)
        assert weights(failed) == weights(whole)
        assert measured(failed) == measured(whole), number


class Http(http.server.BaseHTTPRequestHandler):
    """Serves BODY at /plain without ranges, at /ranges with them, and what has "moved" in its name by a redirect."""

    BODY, protocol_version = table(70, 8), "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        if "moved" in self.path:
            self.send_response(302)
            self.send_header("Location", "t.csv" if self.path.startswith("/ranges") else "/ranges/t.csv")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        body, asked = self.BODY, self.headers.get("Range")
        if self.path.startswith("/ranges") and asked:
            first, last = (int(word) for word in asked.removeprefix("bytes=").split("-"))
            body = body[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(self.BODY)}")
        else:
            self.send_response(200)
        self.send_header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_http_servers_with_and_without_ranges():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Http)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    local = trained_here("of_http", {"http.csv": Http.BODY}, seed=4)
    for kind, path in ("plain", "plain/t.csv"), ("ranges", "ranges/t.csv"), ("moved", "moved/t.csv"), ("moved", "ranges/moved.csv?x=/y"):
        run(*experiment(kind, f"http://127.0.0.1:{server.server_port}/{path}", seed=4))
        assert weights(newest(kind)) == local, kind
        assert state(newest(kind))["data"][0]["modified"] == 784111777 * 10**9
    url = f"http://127.0.0.1:{server.server_port}/%s/t.csv"
    run(*experiment("ranges", url % "ranges", seed=4, loader__stream="true", loader__shuffle="false"))
    run(*experiment("of_http", "files/http.csv", seed=4, loader__shuffle="false"))
    assert weights(newest("ranges")) == weights(newest("of_http"))
    refused = run(*experiment("plain", url % "plain", loader__stream="true"), exits=2).said()
    assert "cannot send a part" in refused, refused
    server.shutdown()


class Google(http.server.BaseHTTPRequestHandler):
    """What Google Cloud Storage answers to Arrow's client about the objects of one bucket."""

    OBJECTS, protocol_version = {"d/1.csv": table(50, 61), "d/2.csv": table(60, 62)}, "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        url = urllib.parse.urlsplit(self.path)
        query, name = dict(urllib.parse.parse_qsl(url.query)), urllib.parse.unquote(url.path.split("/o/")[-1])
        if url.path.endswith("/o"):
            return self._json({"items": [self._about(key) for key in self.OBJECTS if key.startswith(query["prefix"])]})
        if name not in self.OBJECTS:
            return self._send(404, b"{}")
        if query.get("alt") != "media":
            return self._json(self._about(name))
        body = self.OBJECTS[name]
        first, last = ("0", "") if "Range" not in self.headers else self.headers["Range"].removeprefix("bytes=").split("-")
        part = body[int(first) : int(last) + 1 if last else None]
        place = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
        self._send(206 if "Range" in self.headers else 200, part, {"Content-Range": place, "x-goog-generation": "1"})

    def _about(self, name):
        when = "2026-01-01T00:00:00Z"
        return {"kind": "storage#object", "id": name, "name": name, "bucket": "bucket", "generation": "1", "metageneration": "1",
                "size": str(len(self.OBJECTS[name])), "etag": f"etag-of-{name}", "timeCreated": when, "updated": when}  # fmt: skip

    def _json(self, value):
        self._send(200, json.dumps(value).encode())

    def _send(self, status, body, headers=()):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_google_cloud_storage_through_arrow():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Google)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = f"?scheme=http&endpoint_override=127.0.0.1:{server.server_port}"
    for file in (FOLDER / "files").glob("*.csv"):
        file.unlink()
    local = trained_here("of_google", {"1.csv": Google.OBJECTS["d/1.csv"], "2.csv": Google.OBJECTS["d/2.csv"]})
    run(*experiment("google", f"gs://anonymous@bucket/d/*.csv{where}"))
    assert weights(newest("google")) == local
    assert [file["etag"] for file in state(newest("google"))["data"]] == ["etag-of-d/1.csv", "etag-of-d/2.csv"]
    missing = run(*experiment("google", f"gs://anonymous@bucket/d/3.csv{where}"), exits=2).said()
    assert "is not there" in missing, missing
    server.shutdown()


def test_the_cache_keeps_to_its_limit_and_what_runs_use():
    bodies = {f"c{i}.csv": table(2000, 20 + i) for i in range(3)}
    size = len(bodies["c0.csv"])
    for name, body in bodies.items():
        SERVER.put(name, body)
    objects = FOLDER / "cache/ddp-exp/objects"

    def cached():
        return sorted(file.name for file in objects.glob("*/*"))

    refused = run(*experiment("large", f"s3://{BUCKET}/c0.csv", loader__cache='"10KB"'), exits=2).said()
    assert "loader.cache" in refused and not [name for name in cached() if name == "c0.csv"], refused
    limit = f'"{int(2.5 * size)}"'
    for i in (0, 1, 0, 2):
        run(*experiment(f"c{i}", f"s3://{BUCKET}/c{i}.csv", loader__cache=limit))
    assert cached() == ["c0.csv", "c2.csv"]
    # A killed fetch leaves a part, which does not count beside the object itself.
    entry = next(objects.glob("*/c2.csv")).parent
    next(objects.glob("*/c2.csv")).unlink()
    pathlib.Path(f"{entry}.part").write_bytes(bodies["c2.csv"][:-10])
    run(*experiment("c2", f"s3://{BUCKET}/c2.csv", loader__cache=f'"{int(1.2 * size)}"'))
    run(*experiment("c0", f"s3://{BUCKET}/c0.csv", loader__cache=limit))
    # A run that trains keeps its copy.
    training = start(*experiment("c0", f"s3://{BUCKET}/c0.csv", epochs=100000, loader__cache=limit), "--run-id", "long")
    until(lambda: events_in(FOLDER / "results/c0/long/metrics.jsonl", "epoch"), "the first epoch")
    for i in (1, 2):
        run(*experiment(f"c{i}", f"s3://{BUCKET}/c{i}.csv", loader__cache=limit))
    assert "c0.csv" in cached(), cached()
    full = run(*experiment("c1", f"s3://{BUCKET}/c1.csv", loader__cache=f'"{int(1.5 * size)}"'), exits=2).said()
    assert "that runs use" in full, full
    run("stop", "c0/long")
    training.wait(120)


def test_two_runs_fetch_an_object_once():
    body = table(20000, 31)
    SERVER.put("shared.csv", body)
    held = threading.Event()

    def slow(environ, answer):
        if environ.get("HTTP_RANGE", "") not in ("", "bytes=0-0"):
            held.wait(60)
        return answer()

    with SERVER.spoilt(slow):
        runs = [start(*experiment(f"twin{i}", f"s3://{BUCKET}/shared.csv", epochs=1)) for i in range(2)]
        until(lambda: SERVER.whole_reads("shared.csv") == 1, "the first read")
        until(lambda: sum(line[:3] == ("GET", f"/{BUCKET}/shared.csv?", "bytes=0-0") for line in SERVER.requests) == 2, "looks")
        held.set()
        assert [one.wait(240) for one in runs] == [0, 0], runs
    assert SERVER.whole_reads("shared.csv") == 1


def test_a_killed_fetch_leaves_nothing_behind():
    body = table(4000, 35)
    SERVER.put("killed.csv", body)
    local = trained_here("not_killed", {"killed.csv": body}, epochs=1)
    words, held = experiment("killed", f"s3://{BUCKET}/killed.csv", epochs=1), threading.Event()

    def stuck(environ, answer):
        if environ.get("HTTP_RANGE", "") not in ("", "bytes=0-0"):
            held.wait(60)
        return answer()

    with SERVER.spoilt(stuck):
        killed = start(*words)
        until(lambda: SERVER.whole_reads("killed.csv") == 1, "the read")
        killed.kill()
        killed.wait(60)
        held.set()
    run(*words)
    assert weights(newest("killed")) == local
    assert not list((FOLDER / "cache/ddp-exp/objects").glob("*.part"))


def test_faults_of_a_server_change_no_bit():
    bodies = {"f.csv": table(3000, 41)}
    local = trained_here("no_faults", bodies)
    draw = random.Random(9)

    def faulty(environ, answer):
        status, headers, body = answer()
        kind = draw.choice(["none", "429", "503", "cut", "stale", "short", "more"])
        if kind == "429":
            return "429 Too Many Requests", [("Retry-After", "0")], b""
        if kind == "503":
            return "503 Slow Down", [], b"<Error><Code>SlowDown</Code></Error>"
        if kind == "cut" and len(body) > 1:
            return status, headers, body[: len(body) // 2]  # fewer bytes than Content-Length says
        if kind == "stale" and environ.get("HTTP_RANGE") != "bytes=0-0":  # the object would have changed since
            return status, [(n, '"other"' if n.lower() == "etag" else v) for n, v in headers], body
        if kind == "short" and len(body) > 1:  # Content-Length agrees with the part
            return status, [(n, str(len(body) // 2) if n.lower() == "content-length" else v) for n, v in headers], body[: len(body) // 2]
        if kind == "more":
            return status, [(n, str(len(body) + 5) if n.lower() == "content-length" else v) for n, v in headers], body + b"1,2,3"
        return status, headers, body

    for i in range(2):
        SERVER.put(f"faults{i}/f.csv", bodies["f.csv"])
        with SERVER.spoilt(faulty):
            run(*experiment("faulty", f"s3://{BUCKET}/faults{i}/f.csv", loader__retries=30))
        assert weights(newest("faulty")) == local
    with SERVER.spoilt(lambda *_: ("503 Slow Down", [], b"")):
        begun = time.monotonic()
        used_up = run(*experiment("used_up", f"s3://{BUCKET}/f.csv", loader__retries=2), exits=2).said()
        assert "503, 3 times" in used_up and time.monotonic() - begun < 60, used_up
    with SERVER.spoilt(lambda *_: ("403 Forbidden", [], b"<Error><Code>ExpiredToken</Code></Error>")):
        assert "403 (ExpiredToken)" in run(*experiment("expired", f"s3://{BUCKET}/faults0/f.csv"), exits=2).said()
    assert not list((FOLDER / "results").glob("used_up/*")) and not list((FOLDER / "results").glob("expired/*"))
    parts = [file for file in (FOLDER / "cache/ddp-exp/objects").iterdir() if file.suffix not in ("", ".lock")]
    assert not parts, parts


def test_a_sweep_looks_at_an_object_once():
    SERVER.put("swept.csv", table(80, 51))
    before = len(SERVER.requests)
    (FOLDER / "swept.toml").write_text(
        EXPERIMENT % f"s3://{BUCKET}/swept.csv" + 'sweep = { parameters = { "optimizer.lr" = [0.1, 0.01, 0.001] } }\n')
    run("sweep", "swept.toml")
    assert len(SERVER.requests) - before == 2, SERVER.requests[before:]


for name, test in list(globals().items()):
    if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name):
        test()
        print("passed:", name, flush=True)
SERVER.close()
