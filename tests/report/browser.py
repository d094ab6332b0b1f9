"""A headless Chromium, controlled through two pipes with its DevTools protocol: it opens no port, and only the browser
must be installed."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Opens pages: `with Browser() as browser: page = browser.open(file)`."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory()
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to 4; its own home keeps its files out of the user's home.
        pipes = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--hide-scrollbars",
            f"--user-data-dir={self.scratch.name}/profile",
        ]
        self.process = subprocess.Popen(
            ["bash", "-c", pipes, "bash", PROGRAM, *flags],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.scratch.name},
        )
        os.close(to_browser)
        os.close(from_browser)
        self.unread = b""
        self.calls = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (EOFError, BrokenPipeError):
            pass
        self.process.wait(timeout=60)
        self.scratch.cleanup()

    def read(self):
        """Returns the next message."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.read_end], [], [], 120)
            assert ready, "the browser has said nothing for two minutes"
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.calls:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            page = self.pages.get(answer.get("sessionId"))
            if page:
                page.hear(answer["method"], answer["params"])

    def open(self, file, width=1280, height=900, dark=False, phone=False):
        return Page(self, pathlib.Path(file).resolve(), width, height, dark, phone)


class Page:
    """A file in the browser, with its error and console messages (`complaints`), its requests (`requests`) and the
    reasons of blocked ones (`blocked`)."""

    def __init__(self, browser, file, width, height, dark, phone):
        self.browser = browser
        self.complaints, self.requests, self.blocked, self.loaded = [], [], [], False
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.screen(width, height, phone)
        self.media(dark=dark)
        self.call("Page.navigate", url=file.as_uri())
        self.until(lambda: self.loaded)
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def hear(self, method, event):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append([argument.get("value") for argument in event["args"]])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(event["exceptionDetails"])
        elif method == "Log.entryAdded":
            self.complaints.append(event["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Network.loadingFailed":
            self.blocked.append(event.get("blockedReason"))

    def until(self, condition, seconds=60):
        """Polls the browser, whose events update this page, until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come true"
            self.browser.call("Target.getTargets")  # a page that navigates would refuse a call

    def evaluate(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def screen(self, width, height, phone=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            mobile=phone,
            deviceScaleFactor=2 if phone else 1,
        )

    def media(self, dark=False, kind=""):
        self.call(
            "Emulation.setEmulatedMedia",
            media=kind,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def box(self, selector):
        """Scrolls the element into the window and returns its box there."""
        return self.evaluate(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
            " it.scrollIntoView({block: 'center'}); const b = it.getBoundingClientRect();"
            " return {x: b.x, y: b.y, width: b.width, height: b.height}; })()"
        )

    def move_to(self, selector, across=0.5, down=0.5):
        box = self.box(selector)
        place = {"x": box["x"] + across * box["width"], "y": box["y"] + down * box["height"]}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)
        return place

    def click(self, selector):
        place = self.move_to(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **({"text": text} if text and kind == "keyDown" else {}),
            )

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def picture(self, file, whole=True):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def print_to(self, file):
        data = self.call("Page.printToPDF", printBackground=False, paperWidth=8.27, paperHeight=11.69)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))


def nothing_is_loaded_and_nothing_complained_of(page):
    assert page.complaints == [], page.complaints
    # The page itself is the only file; it makes no network request.
    assert len(page.requests) == 1 and page.requests[0].startswith("file:///"), page.requests


def run_checks(prepare, *checks):
    """Calls each check with the browser and a folder that prepare(folder) has filled. Skipped without Chromium."""
    if PROGRAM is None:
        print("skipped: Chromium is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch, Browser() as window:
        folder = pathlib.Path(scratch)
        prepare(folder)
        for check in checks:
            check(window, folder)
            print("holds:", check.__name__.replace("_", " "), flush=True)
