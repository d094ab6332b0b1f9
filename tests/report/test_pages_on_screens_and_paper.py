"""A page of `ddp-exp report` in light and dark mode, on a phone and on paper."""

from browser import nothing_is_loaded_and_nothing_complained_of, run_checks
from folders import report, sweep, train


def prepare(folder):
    train(folder, "one", "a")
    train(folder, "one", "b", "optimizer.lr=0.01")
    sweep(folder)


def dark_and_light(window, folder):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = window.open(report(folder, "one/a")), window.open(report(folder, "one/a"), dark=True)
    stroke = "getComputedStyle(document.querySelector('.plot .line')).stroke"
    assert light.evaluate(background) != dark.evaluate(background)
    assert light.evaluate(stroke) != dark.evaluate(stroke)
    in_dark = dark.evaluate(background)
    dark.click(".theme")
    assert dark.evaluate(background) == light.evaluate(background)
    light.click(".theme")
    assert light.evaluate(background) == in_dark


def a_phone(window, folder):
    for named in (["one/a"], ["one/a", "one/b"], ["rates/one"]):
        page = window.open(report(folder, *named, "--output", "phone.html"), width=375, height=700, phone=True)
        assert page.evaluate("innerWidth") == 375
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide == 375, f"{named}: the page is {wide} wide on a screen of 375"
        sizes = page.evaluate(
            "[...document.querySelectorAll('.plot .tick')].map(t => t.getBoundingClientRect().height)"
        )
        assert len(sizes) > 10 and min(sizes) > 9, "no axis is too small to read"
        nothing_is_loaded_and_nothing_complained_of(page)


def paper(window, folder):
    page = window.open(report(folder, "one/a", "one/b", "--output", "paper.html"), dark=True)
    page.media(dark=True, kind="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown = "[...document.querySelectorAll('.theme, .controls, .toggle')].filter(e => e.offsetHeight > 0).length"
    assert page.evaluate(shown) == 0, "nothing to press is printed"
    assert (
        page.evaluate("document.querySelectorAll('.config tbody tr')[0].offsetHeight") > 0
    ), "all of the configuration is"
    page.print_to(folder / "paper.pdf")
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")


run_checks(prepare, dark_and_light, a_phone, paper)
