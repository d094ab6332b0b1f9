"""The pages of `ddp-exp report` in a real browser, used as a reader uses them."""

import json

from browser import nothing_is_loaded_and_nothing_complained_of, run_checks
from folders import ddp_exp, events, report, sweep, train


def prepare(folder):
    train(folder, "one", "a")
    train(folder, "one", "b", "optimizer.lr=0.01")
    sweep(folder)


def hovering_shows_the_values(page, run):
    losses = {event["step"]: event["loss"] for event in events(run) if event["event"] == "step"}
    page.move_to(".chart .plot", 0.6, 0.5)
    where, value = page.texts(".chart .tip .where")[0], page.texts(".chart .tip b")[0]
    step = int(where.removeprefix("step "))
    assert 1 < step < max(losses), where
    assert abs(float(value) - losses[step]) <= 1e-3 * losses[step], (step, value, losses[step])
    # All charts mark the same position, which follows the pointer.
    assert page.evaluate(
        "[...document.querySelectorAll('.crosshair')].every(l => l.getAttribute('visibility') === 'visible')"
    )
    page.move_to("h1")
    assert page.evaluate("[...document.querySelectorAll('.tip')].every(tip => tip.hidden)")


def keys_tell_values_too(page):
    page.evaluate("document.querySelector('.chart .plot').focus()")
    for _ in range(3):
        page.press("ArrowRight")
    assert page.texts(".chart .tip .where")[0] == "step 3", page.texts(".chart .tip .where")


def ticks(page):
    return page.texts(".chart:first-child .tick")


def axes_change(page):
    before = ticks(page)
    page.click(".chart .toggle")
    logarithmic = ticks(page)
    assert logarithmic != before
    page.click(".chart .toggle")
    assert ticks(page) == before
    page.click(".segmented button:nth-child(2)")
    assert ticks(page)[-1] == "epochs done", ticks(page)
    page.click(".segmented button:nth-child(1)")
    raw = page.evaluate("document.querySelector('.chart .plot .line').getAttribute('d')")
    page.evaluate(
        "(() => { const s = document.querySelector('.slider input'); s.value = 0.9; s.dispatchEvent(new Event('input')); })()"
    )
    lines = page.evaluate(
        "[...document.querySelectorAll('.chart:first-child .plot .curve .line')].map(l => l.getAttribute('d'))"
    )
    assert len(lines) == 2, lines
    assert lines[0] == raw and lines[1] != raw, "the raw curve stays behind the smoothed one"


def a_run(window, folder):
    run = folder / "results/one/a"
    page = window.open(report(folder, "one/a"))
    titles = page.texts(".chart h3")
    for title in ("Loss per step", "Loss per epoch", "Learning rate"):
        assert title in titles, titles
    assert (
        "Configuration" in page.texts("h2") and "Environment" in page.texts("h2") and "Checkpoints" in page.texts("h2")
    )
    hovering_shows_the_values(page, run)
    keys_tell_values_too(page)
    axes_change(page)
    rate = "[...document.querySelectorAll('.segmented button')].find(b => b.textContent === 'per rank').click()"
    whole = page.texts(".charts figure:last-child .tick")
    page.evaluate(rate)
    assert page.texts(".charts figure:last-child .tick") != whole, "throughput per rank is another number"
    nothing_is_loaded_and_nothing_complained_of(page)


def throughput_per_rank_goes_by_the_ranks_of_its_time(window, folder):
    run = train(folder, "grown", "a")
    ddp_exp("resume", "grown/a", "--set", 'device_pool=["cpu"]', "--set", "epochs=6", folder=folder)
    page = window.open(report(folder, "grown/a"))
    page.click(".charts figure:last-child .segmented button:nth-child(2)")
    whole = {event["step"]: event["samples_per_second"] for event in events(run) if event["event"] == "step"}
    for step, ranks in ((3, 2), (max(whole) - 1, 1)):
        page.evaluate("document.querySelector('.charts figure:last-child .plot').focus()")
        page.press("Escape")
        for _ in range(step):
            page.press("ArrowRight")
        told = float(page.texts(".charts figure:last-child .tip b")[0].replace(",", ""))
        assert abs(told * ranks - whole[step]) <= 2e-3 * whole[step], (step, told, whole[step])


def several_runs(window, folder):
    page = window.open(report(folder, "one/a", "one/b", "--output", "both.html"))
    assert page.evaluate("document.querySelectorAll('.chart:first-child .plot .curve').length") == 2
    colours = page.evaluate(
        "[...document.querySelectorAll('.chart:first-child .plot .curve .line')].map(l => getComputedStyle(l).stroke)"
    )
    assert colours[0] != colours[1]
    page.move_to(".chart .plot", 0.5, 0.5)
    assert page.texts(".chart:first-child .tip .label") == ["a", "b"]
    visible = "[...document.querySelectorAll('.config.only tbody tr')].filter(r => r.offsetHeight > 0).map(r => r.cells[0].textContent)"
    assert page.evaluate(visible) == ["optimizer.lr"]
    page.click(".legend .toggle")
    assert page.evaluate("document.querySelectorAll('.chart:first-child .plot .curve').length") == 1
    nothing_is_loaded_and_nothing_complained_of(page)


def column(page, name):
    """The cells of the ranking's column, from top to bottom."""
    heads = page.texts(".sortable th button")
    return page.texts(f".sortable td:nth-child({heads.index(name) + 1})")


def head(page, name):
    return f".sortable th:nth-child({page.texts('.sortable th button').index(name) + 1})"


def a_sweep(window, folder):
    page = window.open(report(folder, "rates/one"))
    assert column(page, "trial")[0] == "0" and column(page, "status")[-1] == "failed"
    page.click(head(page, "optimizer.lr") + " button")
    rates = ["0.0001", "0.001", "0.01", "0.05", "1,000"]
    assert column(page, "optimizer.lr") in (rates, [*rates[:-1], "1000"]), column(page, "optimizer.lr")
    page.evaluate(f"document.querySelector('{head(page, 'optimizer.lr')} button').focus()")
    page.press("Enter", 13, "\r")
    assert column(page, "optimizer.lr")[1:] == rates[3::-1]
    assert (
        page.evaluate(f"document.querySelector('{head(page, 'optimizer.lr')}').getAttribute('aria-sort')")
        == "descending"
    )
    page.click(head(page, "val_loss") + " button")
    assert column(page, "status")[-1] == "failed", "rows without a value come last"
    page.click(head(page, "val_loss") + " button")
    assert column(page, "status")[-1] == "failed", "the other way too"
    page.move_to(".sortable tbody tr:first-child")
    lit = page.evaluate("[...new Set([...document.querySelectorAll('.lit')].map(e => e.tagName))].sort()")
    assert lit == ["TR", "circle", "g"], "a trial lights up in the table and in all pictures"
    grey = page.evaluate(
        "(() => { const p = document.createElement('p'); p.style.color = 'var(--grey)'; document.body.append(p); return getComputedStyle(p).color; })()"
    )
    strokes = page.evaluate(
        "[...document.querySelectorAll('.chart .plot:not(.parallel) .curve[data-run=\"2\"] .line')].map(l => getComputedStyle(l).stroke)"
    )
    assert len(strokes) >= 3 and set(strokes) == {grey}, "a stopped trial is grey"
    assert page.evaluate("document.querySelectorAll('.parallel .curve').length") == 5
    assert "(log)" in page.texts(".charts .name")[0], "rates that span decades have a logarithmic axis"
    nothing_is_loaded_and_nothing_complained_of(page)


def restarts_and_losses_that_are_not_finite_are_marked(window, folder):
    run = folder / "results/one/a"
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    lost = json.loads(lines[4]) | {"loss": None, "finite": False}
    lines[4] = json.dumps(lost) + "\n"
    restart = {
        "event": "restart",
        "epoch": 0,
        "step": 6,
        "restart": 1,
        "rank": 1,
        "cause": "killed by <b>SIGKILL</b>",
        "seconds": 0.1,
    }
    lines.insert(6, json.dumps(restart) + "\n")
    (run / "metrics.jsonl").write_text("".join(lines))
    page = window.open(report(folder, "one/a"))
    assert page.evaluate("document.querySelectorAll('.chart:first-child .not-finite').length") == 1
    path = page.evaluate("document.querySelector('.chart:first-child .plot .line').getAttribute('d')")
    assert path.count("M") == 2, "the curve has a gap"
    assert page.evaluate("document.querySelectorAll('.chart:first-child .mark.restart').length") == 1
    assert "killed by <b>SIGKILL</b>" in page.texts(".cause")[0]
    nothing_is_loaded_and_nothing_complained_of(page)


run_checks(
    prepare,
    a_run,
    several_runs,
    throughput_per_rank_goes_by_the_ranks_of_its_time,
    a_sweep,
    restarts_and_losses_that_are_not_finite_are_marked,
)
