"""`ddp-exp report`: the place of the page, the output of --json, and damaged or hostile results."""

import json
import os
import pathlib
import tempfile

from folders import ddp_exp, report, sweep, train


def data_of(folder, *arguments):
    return json.loads(ddp_exp("report", *arguments, "--json", folder=folder).stdout)


def the_page_is_in_the_folder_of_the_run_and_its_path_is_printed(folder):
    run = folder / "results" / "one" / "a"
    for named in ("one/a", "latest", "one", "results/one/a"):
        assert report(folder, named).resolve() == (run / "report.html").resolve(), named
    text = (run / "report.html").read_text()
    assert text.startswith("<!doctype html>") and "https://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert report(folder, "one/a", "--output", "mine.html") == folder / "mine.html"
    assert not list(folder.rglob("*.tmp"))
    sweep_page = report(folder, "rates/one")
    assert sweep_page == folder / "results/rates/one/report.html" and sweep_page.exists()


def json_says_what_the_page_shows(folder):
    data = data_of(folder, "one/a")
    assert (data["version"], data["kind"], data["problems"]) == (1, "runs", []), data
    run = data["runs"][0]
    summary = json.loads((folder / "results/one/a/summary.json").read_text())
    for key in ("status", "steps", "epochs", "final", "world_size", "devices", "backend", "versions"):
        assert run[key] == summary[key], key
    assert run["config"]["optimizer.lr"] == 0.05 and run["per_step"]["rows"] == summary["steps"]
    assert run["checkpoints"][-1]["path"] == f"checkpoints/step-{summary['steps']:08}"
    page = (folder / "results/one/a/report.html").read_text()
    inside = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert {**inside, "written": ""} == {**data, "written": ""}
    data = data_of(folder, "rates/one")
    assert (data["version"], data["kind"]) == (1, "sweep")
    assert [trial["place"] for trial in data["sweep"]["ranking"]] == [1, 2, 3, 4, None]
    assert [run["trial"] for run in data["runs"]] == [trial["trial"] for trial in data["sweep"]["ranking"][:4]]
    assert data["environment"]["world_size"] == 2


def what_cannot_be_is_refused(folder):
    def refused(*arguments):
        return ddp_exp("report", *arguments, folder=folder, code=2).stderr

    assert "no such run" in refused("nowhere")
    assert "make it with: mkdir -p " in refused("one/a", "--output", "no/such/folder/x.html")
    assert "for example --output page.html" in refused("one/a", "--output", "page.pdf")
    assert "a sweep, not a run" in refused("one/a", "rates/one")
    assert "too many" in refused(*["one/a"] * 65)
    refused()
    (folder / "taken.html").mkdir()
    assert "taken.html: is a folder" in refused("one/a", "--output", "taken.html")


def damage_is_told_in_a_line_and_passed_over(folder):
    run = train(folder, "damaged", "a")
    whole = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(b"\xff\xfe{\n[[[[\n" + whole + b'{"event":"step","epoch":')
    data = data_of(folder, "damaged/a")
    assert data["runs"][0]["per_step"]["rows"] == data["runs"][0]["steps"] and len(data["problems"]) == 1, data[
        "problems"
    ]
    assert "2 lines are damaged" in data["problems"][0]
    (run / "summary.json").write_bytes(b'{"status": 7')
    (run / "config.toml").write_bytes(b"= \xff")
    (run / "metrics.jsonl").unlink()
    (run / "metrics.jsonl").mkdir()
    done = ddp_exp("report", "damaged/a", folder=folder)
    told = [line for line in done.stderr.splitlines() if line]
    assert len(told) == 3 and all(
        name in done.stderr for name in ("summary.json", "config.toml", "metrics.jsonl")
    ), told
    assert (run / "report.html").exists()
    home = folder / "results/rates/one"
    trial = home / "trials/000/metrics.jsonl"
    trial.unlink()
    os.mkfifo(trial)
    assert "not a regular file" in data_of(folder, "rates/one")["problems"][0], "a pipe is not waited for"
    (home / "summary.json").write_text(
        '{"status":"completed","ranking":[{"trial":-1},7,{"parameters":[]},{"trial":99999999999}]}'
    )
    assert data_of(folder, "rates/one")["sweep"]["status"] == "completed"


with tempfile.TemporaryDirectory() as scratch:
    here = pathlib.Path(scratch)
    train(here, "one", "a")
    sweep(here)
    os.utime(here / "results/rates/one/sweep.toml", (1, 1))
    for check in (
        the_page_is_in_the_folder_of_the_run_and_its_path_is_printed,
        json_says_what_the_page_shows,
        what_cannot_be_is_refused,
        damage_is_told_in_a_line_and_passed_over,
    ):
        check(here)
        print("holds:", check.__name__.replace("_", " "), flush=True)
