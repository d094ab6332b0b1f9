"""The pages of `ddp-exp plan --preview` in a real browser: all parts are drawn, and hostile cells stay text."""

from browser import nothing_is_loaded_and_nothing_complained_of, run_checks
from folders import ddp_exp

REST = 'device_pool = ["cpu"]\nthreads = 1\nbatch_size = 4\n'
HOSTILE = "<img src=x onerror=alert(1)>"


def tokens(folder):
    text = "".join(f"line {i} {HOSTILE}\n" for i in range(50))
    (folder / "a.txt").write_text(text)
    (folder / "text.toml").write_text(
        'dataset = { name = "text", path = "a.txt", block_size = 32 }\n'
        'model = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 4 }\n' + REST
    )


def numbers(folder):
    (folder / "numbers.toml").write_text(
        'dataset = { name = "counting", size = 101, features = 6 }\n'
        'model = { name = "mlp", hidden = [8], out_features = 10 }\n' + REST
    )


def prepare(folder):
    tokens(folder)
    numbers(folder)
    for name in ("text", "numbers"):
        ddp_exp("plan", f"{name}.toml", "--preview", f"{name}.html", folder=folder)


def check_text(window, folder):
    for dark in (False, True):
        page = window.open(folder / "text.html", dark=dark)
        nothing_is_loaded_and_nothing_complained_of(page)
        assert page.texts("h1")[0].startswith("text")
        shown = page.texts(".block")
        assert len(shown) == 4 and shown[0].startswith("line 0 <img src"), shown
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("document.querySelector('.block').children.length") == 32


def check_numbers(window, folder):
    page = window.open(folder / "numbers.html")
    nothing_is_loaded_and_nothing_complained_of(page)
    assert page.evaluate("document.querySelectorAll('.chart .bar').length") == 20
    assert page.texts("h2") == ["First training samples", "Values", "First batch of rank 0"], page.texts("h2")
    # The page never scrolls sideways, not even on a phone.
    page.screen(390, 800, phone=True)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


run_checks(prepare, check_text, check_numbers)
