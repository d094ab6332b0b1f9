"""An S3 server on loopback, moto, whose requests are noted and whose answers can be spoilt."""

import contextlib
import os
import re
import threading

import boto3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

KEY, SECRET = "AKIATESTKEY", "the/secret+of/tests"
BUCKET = "data"


class _Quiet(WSGIRequestHandler):
    def log(self, *_):
        pass


def signature_of(environ):
    """botocore's signature of a request with these headers; moto looks at none."""
    names = re.search("SignedHeaders=([^,]+)", environ["HTTP_AUTHORIZATION"])[1].split(";")
    keys = {name: name.upper().replace("-", "_") for name in names}
    headers = {name: environ.get(f"HTTP_{key}", environ.get(key)) for name, key in keys.items()}
    request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{environ['RAW_URI']}", headers)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = S3SigV4Auth(Credentials(KEY, SECRET), "s3", "us-east-1")
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)


class Server:
    """`spoil(environ, answer)`: gets each request and a function that answers it; returns what is answered instead:
    (status, headers, body), or None. `requests`: of each request the method, the path with its query, and the range."""

    def __init__(self):
        self.requests, self.spoil, self._lock = [], None, threading.Lock()
        self._wrongly_signed = []
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Quiet)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client = boto3.client("s3", endpoint_url=self.address, aws_access_key_id=KEY, aws_secret_access_key=SECRET,
                                   region_name="us-east-1")  # fmt: skip
        self.client.create_bucket(Bucket=BUCKET)
        self.environment = {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.address, "AWS_EC2_METADATA_DISABLED": "true"}  # fmt: skip

    def put(self, key, body):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def _serve(self, environ, start):
        line = (environ["REQUEST_METHOD"], environ["PATH_INFO"] + "?" + environ["QUERY_STRING"], environ.get("HTTP_RANGE", ""),
                environ.get("HTTP_IF_MATCH", ""))  # fmt: skip
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        with self._lock:
            self.requests.append(line)
            if authorization and not authorization.endswith("Signature=" + signature_of(environ)):
                self._wrongly_signed.append(line)

        def answer():
            head = []
            body = b"".join(self._app(environ, lambda status, headers, *_: head.extend([status, headers])))
            return head[0], list(head[1]), body

        spoilt = self.spoil and self.spoil(environ, answer)
        status, headers, body = spoilt or answer()
        start(status, headers)
        return [body]

    @contextlib.contextmanager
    def spoilt(self, spoil):
        self.spoil = spoil
        try:
            yield
        finally:
            self.spoil = None

    def whole_reads(self, key):
        """How often the object's bytes were asked for; a look asks for one byte."""
        return sum(m == "GET" and path.split("?")[0].endswith(key) and asked != "bytes=0-0"
                   for m, path, asked, _ in self.requests)  # fmt: skip

    def close(self):
        self._server.shutdown()
        assert not self._wrongly_signed, self._wrongly_signed


def use_cache(folder):
    """Gives the programs of a test a cache folder of its own, with the libraries of the usual one."""
    usual = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ddp-exp")
    os.makedirs(folder / "ddp-exp", exist_ok=True)
    for name in os.listdir(usual):
        if name.startswith(("arrow-", "libtorch-")):
            os.symlink(os.path.join(usual, name), folder / "ddp-exp" / name)
    return {"XDG_CACHE_HOME": str(folder)}
