"""A proxy that knows one host, http://mirror.invalid: an index of wheels under /simple/, and a folder under /files/.

        mirror.py WHEELS FILES LOG     prints its port; LOG gets every requested path
"""

import http.server
import pathlib
import re
import sys
import urllib.parse

HOST = "mirror.invalid"


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.hostname != HOST:
            self.send_error(502, "no such host")
            return
        path = urllib.parse.unquote(url.path)
        with open(LOG, "a") as log:
            print(path, file=log)
        content = self.content(path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if path.endswith("/") else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def content(self, path):
        _, part, name = path.rstrip("/").split("/", 2)
        if part == "simple":
            wheels = [w.name for w in WHEELS.glob("*.whl") if re.sub("_", "-", w.name.split("-")[0]) == name]
            return "".join(f'<a href="/wheels/{w}">{w}</a>\n' for w in wheels).encode()
        file = {"wheels": WHEELS, "files": FILES}[part] / name
        return file.read_bytes() if file.is_file() else None

    def log_message(self, *_):
        pass


WHEELS, FILES, LOG = map(pathlib.Path, sys.argv[1:])

if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    print(server.server_port, flush=True)
    server.serve_forever()
