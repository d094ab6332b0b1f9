"""The page of any results folder shows its contents as text and numbers, and runs and loads nothing from it."""

import json

from browser import nothing_is_loaded_and_nothing_complained_of, run_checks
from folders import HOSTILE, report, sweep, train, write_events


def prepare(folder):
    train(folder, "one", "a")
    train(folder, "one", "b", "optimizer.lr=0.01")
    summary = (sweep(folder) / "summary.json").read_text()
    for known in ("rank 1: killed by SIGKILL", "dataset.size"):
        summary = summary.replace(known, json.dumps(HOSTILE)[1:-1])
    bad = folder / "results" / "bad" / "one"
    bad.mkdir(parents=True)
    (bad / "sweep.toml").write_text("= broken")
    (bad / "summary.json").write_text(summary)


def hostile_texts_stay_texts(window, folder):
    run = train(folder, "hostile", "a")
    summary = json.loads((run / "summary.json").read_text())
    summary |= {"name": HOSTILE, "status": "failed", "error": {"rank": 1, "what": HOSTILE, "log": HOSTILE}}
    (run / "summary.json").write_bytes(json.dumps(summary, ensure_ascii=False).encode())
    at = {"epoch": 9, "step": 901}
    again = {"cause": HOSTILE, "changes": {HOSTILE: [HOSTILE, {"__proto__": 1}]}}
    odd_values = {HOSTILE[:60]: 1e308, "__proto__": -1e308, "constructor": 1}
    write_events(
        run,
        {"event": "restart", **at, **again},
        {"event": "resume", **at, **again},
        {"event": "epoch", **at, **odd_values},
        {"event": "checkpoint", **at, "path": HOSTILE},
        mode="a",
    )
    pages = [
        report(folder, "hostile/a"),
        report(folder, "hostile/a", "one/b", "--output", "hostile.html"),
        report(folder, "bad/one"),
    ]
    for file in pages:
        page = window.open(file)
        assert "taken" not in page.evaluate("document.title")[:6], page.evaluate("document.title")
        assert page.evaluate("document.images.length") == 0 and page.evaluate("document.scripts.length") == 2
        assert any("onerror" in text for text in page.texts("pre, .cause, .short, code, td")), "it is shown as it is"
        nothing_is_loaded_and_nothing_complained_of(page)


def numbers_that_are_hard_to_draw(window, folder):
    cases = {
        "none": [],
        "one": [0.5],
        "zero": [0] * 20,
        "negative": [-1, -2, -3e5],
        "huge": [1e308, -1e308, 5],
        "whole": [2**70, 1],
        "tiny": [1e-300, 1e-310, 5e-324],
        "lost": [None] * 9,
        "gaps": [1, None, 2, None, None, 3],
    }
    for name, losses in cases.items():
        run = train(folder, "odd", name, "epochs=1")
        step = {"event": "step", "epoch": 0, "lr": 0.0, "samples_per_second": 1}
        write_events(run, *(step | {"step": number, "loss": loss} for number, loss in enumerate(losses, 1)))
    use = """(async () => {
      for (const button of document.querySelectorAll('.segmented button, .toggle')) button.click();
      for (const plot of document.querySelectorAll('.plot')) {
        const box = plot.getBoundingClientRect();
        for (const part of [0, 0.5, 1]) plot.dispatchEvent(new PointerEvent('pointermove', {clientX: box.x + part * box.width}));
      } })()"""
    wrong = """[...document.querySelectorAll('main *')].filter(e => [...e.attributes].some(a => /NaN|undefined|Infinity/.test(a.value)) ||
      (e.childElementCount === 0 && /NaN|undefined|Infinity|\\[object/.test(e.textContent))).map(e => e.outerHTML)"""
    for named in [[f"odd/{name}"] for name in cases] + [[f"odd/{name}" for name in cases]]:
        page = window.open(report(folder, *named, "--output", "odd.html"))
        assert page.evaluate(wrong) == [], named
        page.evaluate(use)
        assert page.evaluate(wrong) == [], named
        nothing_is_loaded_and_nothing_complained_of(page)


def nothing_else_may_run(window, folder):
    page = window.open(report(folder, "one/a"))
    for tag in ("script", "style"):
        page.evaluate(
            f"(() => {{ const e = document.createElement('{tag}'); e.textContent = 'window.ran = 1'; document.body.append(e); }})()"
        )
    assert page.evaluate("window.ran") is None
    page.evaluate("(() => { const i = new Image(); i.src = 'https://127.0.0.1:1/x.png'; document.body.append(i); })()")
    page.until(lambda: len([c for c in page.complaints if "Content Security Policy" in json.dumps(c)]) >= 3)
    page.until(lambda: page.blocked)
    assert page.blocked == ["csp"], page.blocked


run_checks(prepare, hostile_texts_stay_texts, numbers_that_are_hard_to_draw, nothing_else_may_run)
