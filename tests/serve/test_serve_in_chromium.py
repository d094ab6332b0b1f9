"""The live pages of `ddp-exp serve` in a real browser: a run that trains, the list, a comparison, a sweep."""

import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "report")]
from browser import Page, run_checks
from folders import HOSTILE, events, sweep, train, write_events
from serving import Server

STEP = {"event": "step", "epoch": 3, "lr": 0.05, "samples": 32, "samples_per_second": 1000.0}


class Address:
    def __init__(self, server, target):
        self.target = server.address + target

    def as_uri(self):
        return self.target


def open_page(window, server, target, width=1280, phone=False):
    page = Page(window, Address(server, target), width, 900, False, phone)
    page.until(lambda: page.texts(".live span") == ["live"])
    return page


def prepare(folder):
    train(folder, "one", "a")
    train(folder, "one", "b", "optimizer.lr=0.01")
    sweep(folder)


def new_points_appear_within_a_second(window, folder):
    run = folder / "results" / "one" / "a"
    with Server(folder) as server:
        page = open_page(window, server, "/report?run=one/a")
        page.evaluate("document.querySelector('details').open = true")
        page.click(".chart .toggle")
        page.evaluate("window.chart = document.querySelector('.chart')")
        page.move_to(".chart .plot", 0.6, 0.5)
        told = page.texts(".chart .tip")[0]
        place, last = page.evaluate("scrollY"), events(run)[-1]["step"]
        assert place > 0
        for number in range(1, 4):
            begun = time.monotonic()
            write_events(run, {**STEP, "step": last + number, "loss": 7.5 + number, "seconds": 9.0 + number}, mode="a")
            shown = f"document.querySelector('.chart .line').getAttribute('d').split('L').length == {last + number}"
            page.until(lambda shown=shown: page.evaluate(shown), seconds=5)
            assert time.monotonic() - begun < 1, time.monotonic() - begun
        assert page.evaluate("scrollY") == place, "the page has not moved"
        assert page.evaluate("document.querySelector('details').open"), "and nothing has closed"
        assert page.evaluate("chart.isConnected && chart.querySelector('.toggle').ariaPressed == 'true'")
        assert page.texts(".chart .tip")[0] == told
        write_events(run, {"event": "restart", "epoch": 3, "step": last + 3, "seconds": 12.0, "cause": HOSTILE}, mode="a")
        page.until(lambda: page.evaluate("document.querySelector('.mark.restart') !== null"), seconds=5)
        assert "taken" not in page.evaluate("document.title") and not page.complaints, page.complaints
        assert all(url.startswith(server.address) for url in page.requests), page.requests


def the_list_filters_sorts_and_grows(window, folder):
    with Server(folder) as server:
        page = open_page(window, server, "/")
        assert page.texts("tbody td a") == ["one/b", "one/a", "rates/one"], page.texts("tbody td a")
        page.evaluate("window.table = document.querySelector('table')")
        train(folder, "one", "c")
        page.until(lambda: page.texts("tbody td a")[0] == "one/c", seconds=20)
        page.evaluate("document.querySelector('input[name=where]').value = 'epochs>=3 and run!=one/a'")
        page.loaded = False
        page.evaluate("document.querySelector('form').requestSubmit()")
        page.until(lambda: page.loaded)
        page.until(lambda: page.texts("tbody td a") == ["one/c", "one/b"])
        page.loaded = False
        page.evaluate("[...document.querySelectorAll('th a')].find(a => a.textContent === 'run').click()")
        page.until(lambda: page.loaded)
        assert page.evaluate("new URLSearchParams(location.search).get('sort')") == "-run"
        assert page.evaluate("document.querySelector('input[name=where]').value") == "epochs>=3 and run!=one/a"
        for box in ("one/b", "one/c"):
            page.click(f"input[aria-label='compare {box}']")
        page.loaded = False
        page.click(".compare")
        page.until(lambda: page.loaded)
        page.until(lambda: page.texts(".legend .toggle") == ["b", "c"])
        assert not page.complaints, page.complaints


def a_sweep_keeps_the_readers_order(window, folder):
    home = folder / "results" / "rates" / "one"
    with Server(folder) as server:
        page = open_page(window, server, "/report?run=rates/one")
        trials = "[...document.querySelectorAll('.sortable tbody a')].map(a => a.textContent).join()"
        page.evaluate("document.querySelectorAll('.sortable th button')[1].click()")
        assert page.evaluate(trials) == "0,1,2,3,4"
        text = (home / "summary.json").read_text()
        (home / "summary.json").write_text(text.replace('"seconds": 0.5', '"seconds": 77'))
        page.until(lambda: any("1 min 17 s" in text for text in page.texts("td")), seconds=5)
        assert page.evaluate(trials) == "0,1,2,3,4"
        assert page.evaluate("document.querySelector('.sortable a').search") == "?run=rates%2Fone%2Ftrials%2F000"


def nothing_is_wider_than_a_phone(window, folder):
    with Server(folder) as server:
        for target in ("/", "/report?run=one/a", "/report?run=one/a&run=one/b", "/report?run=rates/one"):
            page = open_page(window, server, target, width=400, phone=True)
            assert page.evaluate("document.documentElement.scrollWidth") == 400, target
            page.call("Page.navigate", url="about:blank")


run_checks(prepare, new_points_appear_within_a_second, the_list_filters_sorts_and_grows,
           a_sweep_keeps_the_readers_order, nothing_is_wider_than_a_phone)  # fmt: skip
