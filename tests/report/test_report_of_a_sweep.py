"""A real sweep, whose worst trials are stopped early, and its report."""

import json

from browser import nothing_is_loaded_and_nothing_complained_of, run_checks
from folders import EXPERIMENT, ddp_exp, report

SWEEP = """
[sweep]
method           = "asha"
metric           = "val_loss"
trials           = 6
min_epochs       = 1
reduction_factor = 3
[sweep.parameters]
"optimizer.lr" = { min = 1e-4, max = 0.1, scale = "log" }
batch_size     = [8, 16]
"""


def prepare(folder):
    (folder / "rates.toml").write_text(EXPERIMENT + SWEEP)
    ddp_exp("sweep", "rates.toml", folder=folder)


def the_page_has_all_of_the_ranking(window, folder):
    data = json.loads(ddp_exp("report", "rates", "--json", folder=folder).stdout)
    summary = json.loads((folder / "results/rates/latest/summary.json").read_text())
    ranking = data["sweep"]["ranking"]
    for key in ("trial", "place", "status", "metric", "epochs", "parameters"):
        assert [trial[key] for trial in ranking] == [trial[key] for trial in summary["ranking"]], key
    assert len(ranking) == len(data["runs"]) == 6 and data["problems"] == [], data["problems"]
    for trial, run in zip(ranking, data["runs"]):
        assert (run["trial"], run["per_epoch"]["rows"]) == (trial["trial"], trial["epochs"])


def it_draws_every_trial(window, folder):
    page = window.open(report(folder, "latest"))
    assert page.evaluate("document.querySelectorAll('.sortable tbody tr').length") == 6
    assert page.evaluate("document.querySelectorAll('.parallel .curve').length") == 6
    assert page.texts(".charts h3")[:2] == ["optimizer.lr", "batch_size"]
    curves = "new Set([...document.querySelectorAll('.plot:not(.parallel) .curve')].map(c => c.dataset.run)).size"
    assert page.evaluate(curves) == 6
    nothing_is_loaded_and_nothing_complained_of(page)


def what_ran_when_the_sweep_was_killed_is_interrupted(window, folder):
    file = folder / "results/rates/latest/summary.json"
    summary = json.loads(file.read_text()) | {"status": "running"}
    summary["ranking"][5] |= {"status": "running", "metric": None, "place": None}
    file.write_text(json.dumps(summary))
    sweep = json.loads(ddp_exp("report", "rates", "--json", folder=folder).stdout)["sweep"]
    assert (sweep["status"], sweep["ranking"][5]["status"]) == ("interrupted", "interrupted")


run_checks(
    prepare, the_page_has_all_of_the_ranking, it_draws_every_trial, what_ran_when_the_sweep_was_killed_is_interrupted
)
