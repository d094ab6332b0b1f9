"""Requests to `ddp-exp serve` that it must answer, refuse or cut off. It listens on 127.0.0.1 alone and writes nothing."""

import os
import pathlib
import signal
import socket
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from folders import sweep, train, write_events
from serving import Server, read_all, status_of


def files_of(folder):
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


def pages(server):
    for target in ("/", "/report?run=one/a", "/report?run=one/a&run=one/b", "/report?run=rates/one",
                   "/report?run=rates%2Fone%2Ftrials%2F001", "/?where=train_loss%3C100&sort=epochs"):  # fmt: skip
        answer = server.get(target)
        assert status_of(answer) == 200, (target, answer[:300])
        head = answer.split(b"\r\n\r\n")[0]
        for header in (b"default-src 'none'", b"nosniff", b"no-store", b"frame-ancestors 'none'"):
            assert header in head, head
    assert server.get("/", method="HEAD").endswith(b"\r\n\r\n")
    assert status_of(server.get("/", host=f"localhost:{server.port}")) == 200


def other_hosts(server):
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", "", "0.0.0.0"):
        answer = server.get("/", host=host)
        assert status_of(answer) == 403 and b"one/a" not in answer, (host, answer)
    assert status_of(server.ask(b"GET / HTTP/1.1\r\n\r\n")) == 403
    twice = f"Host: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n"
    assert status_of(server.ask(f"GET / HTTP/1.1\r\n{twice}\r\n".encode())) == 403


def methods_and_contents(server):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = server.get("/", method=method)
        assert status_of(answer) == 405 and b"Allow: GET, HEAD" in answer, answer
    assert status_of(server.get("/", method="POST", more="Content-Length: 5\r\n\r\nhello")) == 405
    assert status_of(server.get("/", more="Content-Length: 5\r\n\r\nhello")) == 413
    assert status_of(server.get("/", more="Transfer-Encoding: chunked\r\n\r\n0\r\n")) == 413
    for request in (b"\r\n\r\n", b"BREW / HTTP/1.1\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02", bytes(range(256)) * 9 + b"\r\n\r\n"):
        assert status_of(server.ask(request + b"\r\n\r\n")) in (0, 400, 403), request


def paths(server):
    for target in ("/../secret", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/secret", "//etc/passwd", "/report/../../secret",
                   "/report?run=../secret", "/report?run=..%2f..%2fsecret", "/report?run=%2fetc", "/report?run=one/linked",
                   "/report?run=one/a%00", "/events/../secret", "/events", "/results/one/a/summary.json", "/report",
                   "http://evil.example/"):  # fmt: skip
        answer = server.get(target)
        assert status_of(answer) in (400, 404), (target, answer[:200])
        assert b"a secret" not in answer


def sizes(server):
    big = b"x" * (1 << 20)
    for request in (b"GET /" + big, b"GET / HTTP/1.1\r\nHost: " + big, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100_000):
        assert status_of(server.ask(request + b"\r\n\r\n")) in (0, 400, 414)
    ranges = "Range: bytes=" + ",".join(["0-"] * 500) + "\r\n"
    assert len(server.get("/", more=ranges)) < 2 * len(server.get("/"))
    assert server.memory() < 200, server.memory()


def events(server):
    with server.stream("/events/report?run=one/a") as stream:
        text = b""
        while b"\n\n" not in text.split(b"\r\n\r\n", 1)[-1]:
            text += stream.recv(1 << 16)
    assert b"text/event-stream" in text and b'data: {"version":1,"kind":"runs"' in text, text[:600]


def accepted_stream(server):
    """(a stream, its first bytes); the stream of the check before takes a moment to end."""
    while True:
        stream = server.stream("/events/")
        first = stream.recv(12)
        if first != b"HTTP/1.1 503":
            return stream, first
        stream.close()


def many_streams(server):
    """101 streams are one too many; when they have gone, there is room again. Pages are served all the time."""
    streams, first = map(list, zip(*(accepted_stream(server) for _ in range(100))))
    assert first == [b"HTTP/1.1 200"] * 100, first
    refused = server.stream("/events/")
    assert status_of(read_all(refused)) == 503
    assert status_of(server.get("/")) == 200
    # Connections that never ask for anything take the rest.
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    assert status_of(read_all(idle[-1])) == 503
    for connection in (*streams, *idle, refused):
        connection.close()
    while status_of(server.get("/events/", method="HEAD")) != 200:
        pass


def slow_ones(server):
    """An answer that nobody reads is cut off, and so is a request that never ends; others are served meanwhile."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    reader.connect(("127.0.0.1", server.port))
    large = "/report?run=one/b"
    reader.sendall(f"GET {large} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    assert reader.recv(12) == b"HTTP/1.1 200"
    whole = len(server.get(large))
    with reader, server.connect() as slow:
        cut = threading.Event()

        def trickle():
            try:
                slow.sendall(b"GET / HTTP/1.1\r\nX: ")
                while not cut.wait(0.2):
                    slow.send(b"y")
            except OSError:
                pass

        thread = threading.Thread(target=trickle)
        thread.start()
        assert status_of(server.get("/")) == 200
        assert status_of(read_all(slow)) in (0, 400)
        cut.set()
        thread.join()
        assert len(read_all(reader)) < whole - 12


def prepare(folder):
    train(folder, "one", "a")
    long = train(folder, "one", "b", "optimizer.lr=0.01")
    step = {"event": "step", "epoch": 3, "lr": 0.05, "samples": 32, "samples_per_second": 1000.0}
    write_events(long, *({**step, "step": n, "loss": 1 / n, "seconds": n / 7} for n in range(100, 4000)), mode="a")
    sweep(folder)
    (folder / "secret").mkdir()
    (folder / "secret" / "config.toml").write_text('name = "a secret"\n')
    (folder / "results" / "one" / "linked").symlink_to("../../secret")


def listeners_of(pid):
    """The addresses at which a process listens, as /proc/net writes them."""
    sockets = {os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    rows = [line.split() for kind in ("tcp", "tcp6") for line in open(f"/proc/net/{kind}").readlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    prepare(folder)
    before = files_of(folder)
    with Server(folder) as server:
        assert listeners_of(server.process.pid) == [f"0100007F:{server.port:04X}"]
        for check in (pages, other_hosts, methods_and_contents, paths, sizes, events, many_streams, slow_ones):
            check(server)
            print("holds:", check.__name__.replace("_", " "), flush=True)
    assert files_of(folder) == before, "it has written something"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ended = Server(folder, "--results", "results")
        stream = ended.stream("/events/")
        assert stream.recv(12) == b"HTTP/1.1 200"
        assert ended.end(number) == 0, number
    print("holds: a signal ends it with exit code 0")
