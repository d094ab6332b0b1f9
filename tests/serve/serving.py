"""A `ddp-exp serve` for tests, and raw requests to it."""

import contextlib
import os
import signal
import socket
import subprocess

PROGRAM = os.environ["DDP_EXP"]


class Server:
    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip().rstrip("/")
        assert self.address.startswith("http://127.0.0.1:"), self.process.communicate()
        self.port = int(self.address.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM):
        """Ends it and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return contextlib.closing(connection)

    def ask(self, request):
        """Sends bytes and returns all that comes back; b"" if the server resets the connection."""
        with self.connect() as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
            return read_all(connection)

    def get(self, target, method="GET", host=None, more=""):
        host = f"127.0.0.1:{self.port}" if host is None else host
        return self.ask(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())

    def stream(self, target):
        """A connection that asked for events."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        return connection

    def processor(self):
        """The seconds of a core that it has used."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """The memory of its process, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))


def read_all(connection):
    text = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            text += piece
    return text


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else 0
