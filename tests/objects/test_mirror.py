"""Mirrors: a copy of a run elsewhere is whole at any time, and a run goes on from it to the bits of an uninterrupted one."""

import contextlib
import errno
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import PROGRAM, Command, events_in, sets, until  # noqa: E402
from store import BUCKET, KEY, SECRET, Server, use_cache  # noqa: E402

SERVER = Server()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="mirror "))
ENVIRONMENT = SERVER.environment | use_cache(FOLDER / "cache")
EXPERIMENT = """
dataset     = { name = "counting", size = 1200, features = 6, classes = 3 }
model       = { name = "mlp", in_features = 6, hidden = [256, 256], out_features = 3 }
optimizer   = { name = "sgd", lr = 1e-5, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 6
threads     = 1
validation  = { split = 0.2 }
log         = { tensorboard = false }
checkpoint  = { save_every_steps = 20, save_every_minutes = 0 }
"""
(FOLDER / "plain.toml").write_text(EXPERIMENT)
URL = f"s3://{BUCKET}/runs"


def start(*words, name=None, results="results", mirror=URL, environment=None, **settings):
    """`name`: of a new run."""
    new = ["run", "plain.toml", "--run-id", "one", *sets(name=f'"{name}"', checkpoint__mirror=f'"{mirror}"')] if name else []
    return Command([PROGRAM, *new, *words, "--results", results, *sets(**settings)], FOLDER, ENVIRONMENT | (environment or {}))


def run(*words, exits=0, **settings):
    command = start(*words, **settings)
    assert command.wait(240) == exits, command
    return command


def there(name, prefix="runs"):
    """The objects of a run's copy."""
    pages = SERVER.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/{name}/one/")
    keys = [found["Key"] for page in pages for found in page.get("Contents", [])]
    return {key.split("/one/")[1]: SERVER.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            for key in keys}  # fmt: skip


def here(directory):
    """The same of a folder."""
    return {str(file.relative_to(directory)): file.read_bytes()
            for file in directory.rglob("*") if file.is_file() and "latest" not in file.parts}  # fmt: skip


def complete(files):
    """The steps of the complete checkpoints."""
    return sorted(int(name.split("/")[1][5:]) for name in files if name.endswith("/COMPLETE"))


def of_step(files, step):
    return {name: files[f"checkpoints/step-{step:08}/{name}"] for name in ("model.safetensors", "optimizer.safetensors")}


def steps_in(text):
    return [event["step"] for event in map(json.loads, text.decode().splitlines()) if event["event"] == "step"]


def result(directory):
    """The bits and the steps at the end of a run."""
    files = here(directory)
    last = complete(files)[-1]
    return last, of_step(files, last), steps_in(files["metrics.jsonl"])


run(name="whole", mirror="", checkpoint__keep_last=1000)
WHOLE = FOLDER / "results/whole/one"
STEPS = complete(here(WHOLE))


def go_on_elsewhere(name, prefix=URL, **settings):
    """Goes on from a copy in an empty results folder."""
    shutil.rmtree(FOLDER / "elsewhere", ignore_errors=True)
    command = run("resume", f"{prefix}/{name}/one", results="elsewhere", **settings)
    return FOLDER / "elsewhere" / name / "one", command


def test_a_copy_has_what_the_run_has():
    run(name="same", checkpoint__keep_last=3)
    local, copy = here(FOLDER / "results/same/one"), there("same")
    assert complete(copy) == complete(local) and len(complete(copy)) in (3, 4), complete(copy)
    assert copy == {name: body for name, body in local.items() if not name.startswith("logs/")}, copy.keys() ^ local.keys()
    # A run that has ended goes on there, and here, with the same bits.
    run("resume", "same/one", epochs=8)
    assert there("same")["summary.json"] == here(FOLDER / "results/same/one")["summary.json"]
    SERVER.client.delete_object(Bucket=BUCKET, Key="runs/same/one/config.toml")
    assert "there is no run" in run("resume", f"{URL}/same/one", results="empty", exits=2).said()


def test_a_folder_is_a_mirror_too():
    run(name="folder", mirror="copies", checkpoint__keep_last=1)
    local = here(FOLDER / "results/folder/one")
    assert here(FOLDER / "copies/folder/one") == {name: body for name, body in local.items() if not name.startswith("logs/")}
    run("reproduce", "folder/one")  # trains again, elsewhere
    assert [one.name for one in (FOLDER / "copies/folder").iterdir()] == ["one"]
    run("resume", "copies/folder/one", epochs=7)
    run("resume", "folder/one", epochs=7)
    assert result(FOLDER / "copies/folder/one") == result(FOLDER / "results/folder/one")


def kill_at(number, **new):
    """Begins a run that is killed at this request, before or after the server acts; returns whether it came so far."""
    seen, lock = [], threading.Lock()

    def strike(environ, answer):
        with lock:
            seen.append(environ["PATH_INFO"])
            if len(seen) == number:
                done = answer() if number % 2 else None
                os.killpg(command.pid, signal.SIGKILL)
                return done or ("503 Gone", [], b"")
            return None if len(seen) < number else ("503 Gone", [], b"")

    with SERVER.spoilt(strike):
        with lock:
            command = start(**new)
        command.wait(240)
    return len(seen) >= number


def test_a_machine_that_disappears_at_any_request():
    reference, draw, number, kills = here(WHOLE), random.Random(3), 1, 0
    while kill_at(number, name=f"gone{number}", checkpoint__keep_last=1, loader__retries=0):
        kills += 1
        copy = there(f"gone{number}")
        if complete(copy):
            newest = complete(copy)[-1]
            assert of_step(copy, newest) == of_step(reference, newest), (number, newest)
            assert set(range(1, newest + 1)) <= set(steps_in(copy["metrics.jsonl"])), number
        shutil.rmtree(FOLDER / "results" / f"gone{number}", ignore_errors=True)
        if complete(copy) and kills % 3 == 0:
            directory, command = go_on_elsewhere(f"gone{number}")
            assert result(directory) == result(WHOLE) and "skipped" not in command.said(), (number, command)
            assert of_step(there(f"gone{number}"), STEPS[-1]) == of_step(reference, STEPS[-1])
        number += draw.randint(1, 3)
    assert kills > 5, kills


def test_a_copy_that_is_struck_at_any_call():
    """As in tests/faults, with children that copy into a folder: each is killed at this call, or the call fails."""
    reference, draw, number, strikes, log = here(WHOLE), random.Random(11), 0, 0, FOLDER / "struck.log"
    while True:
        number += draw.randint(4, 12)
        log.unlink(missing_ok=True)
        name, copy = f"struck{number}", FOLDER / f"struck/struck{number}/one"
        fault = {"ROOT": copy.parent, "ROLE": "child", "CALLS": "all", "AT": number, "LOG": log,
                 "DO": draw.choice(["kill", "kill", errno.EIO, errno.ENOSPC])}  # fmt: skip
        environment = {"LD_PRELOAD": str(PROGRAM.parent / "libnth_call.so")} | {f"DDP_FAULT_{k}": str(v) for k, v in fault.items()}
        command = run(name=name, mirror="struck", environment=environment, checkpoint__keep_last=1)
        assert result(FOLDER / "results" / name / "one") == result(WHOLE), command
        if not log.exists():
            break
        strikes += 1
        files = here(copy) if copy.exists() else {}
        if complete(files):
            newest = complete(files)[-1]
            assert of_step(files, newest) == of_step(reference, newest), (number, command)
            assert "damaged" not in run("resume", copy).said()
            assert result(copy) == result(WHOLE), (number, command)
        else:
            assert "is behind" in command.said(), command
    assert strikes > 5, strikes


def test_kills_at_random_moments_each_time_on_another_machine():
    draw, kills, words = random.Random(5), 0, ((), {"name": "moved", "checkpoint__keep_last": 2})
    copied = lambda: sum(m == "PUT" and "/moved/" in path and "COMPLETE" in path for m, path, *_ in SERVER.requests)  # noqa: E731
    while True:
        results, wanted = f"machine{kills}", copied() + draw.randint(0, 2)
        command = start(*words[0], results=results, **words[1])
        until(lambda: command.ended() or copied() >= wanted, "checkpoints there")
        until(lambda: command.ended() or draw.random() < 0.02, "a moment")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
        if command.wait(60) == 0:
            break
        kills += 1
        shutil.rmtree(FOLDER / results, ignore_errors=True)
        if "config.toml" in there("moved"):
            words = (("resume", f"{URL}/moved/one"), {})
    assert result(FOLDER / results / "moved/one") == result(WHOLE), command
    assert kills, kills


def test_faults_of_the_server_leave_whole_copies():
    draw = random.Random(7)

    def faulty(environ, answer):
        kind = draw.choice(["none", "none", "429", "503", "lost", "cut"])
        if kind == "429":
            return "429 Too Many Requests", [("Retry-After", "0")], b""
        if kind == "503":
            return "503 Slow Down", [], b"<Error><Code>SlowDown</Code></Error>"
        if kind == "lost":  # done, but the answer is not heard
            answer()
            return "500 Internal Error", [], b""
        status, headers, body = answer()
        return status, headers, body[: len(body) // 2] if kind == "cut" and environ["REQUEST_METHOD"] == "GET" else body

    with SERVER.spoilt(faulty):
        command = run(name="faulty", loader__retries=30, checkpoint__keep_last=2)
        assert "behind" not in command.said(), command
    local = here(FOLDER / "results/faulty/one")
    assert there("faulty") == {name: body for name, body in local.items() if not name.startswith("logs/")}


def test_without_a_server_the_run_ends_well_and_says_what_is_there():
    away = threading.Event()

    def answers(environ, answer):
        if away.is_set():
            return "503 Slow Down", [], b""
        if environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].endswith("/COMPLETE"):
            away.set()
        return None

    with SERVER.spoilt(answers):
        command = run(name="away", loader__retries=1)
    said, newest = command.said(), complete(there("away"))
    assert f"the mirror {URL}/away/one is behind" in said and "503" in said, said
    assert len(newest) == 1 and f"there: step-{newest[0]:08}" in said, (newest, said)
    assert result(FOLDER / "results/away/one") == result(WHOLE)
    for text in (said, command.printed(), *(file.read_text(errors="replace") for file in (FOLDER / "results/away").rglob("*") if file.is_file())):
        assert KEY not in text and SECRET not in text
    run("resume", "away/one")
    assert complete(there("away")) == newest  # nothing was trained: nothing is copied


def test_stop_signals_end_the_wait_for_the_last_copy():
    held = threading.Event()
    with SERVER.spoilt(lambda environ, _: environ["REQUEST_METHOD"] == "PUT" and held.wait(120) and None):
        command = start(name="waits")
        summary = FOLDER / "results/waits/one/summary.json"
        until(lambda: summary.exists() and '"completed"' in summary.read_text(), "the end of training")
        command.kill(signal.SIGINT)
        until(lambda: "again: ends the wait" in command.said(), "the word")
        command.kill(signal.SIGINT)
        assert command.wait(30) == 0 and "cut short" in command.said(), command
        held.set()


def test_a_later_run_here_is_not_replaced_and_an_earlier_one_is():
    run(name="both", checkpoint__save_every_steps=6)
    shutil.copytree(FOLDER / "results/both", FOLDER / "earlier/both", symlinks=True)
    run("resume", "both/one", epochs=7)
    run("resume", f"{URL}/both/one", results="earlier", epochs=8)
    run("resume", "both/one", epochs=8, checkpoint__mirror='""')
    assert result(FOLDER / "earlier/both/one") == result(FOLDER / "results/both/one")
    run("resume", "both/one", epochs=9, checkpoint__mirror='""')
    refused = run("resume", f"{URL}/both/one", exits=2).said()
    assert "has a checkpoint of step" in refused and "results/both/one" in refused, refused


def test_a_new_run_does_not_replace_the_copy_of_another():
    run(name="used")
    run(name="used", results="copies", mirror="")  # a mirror in a folder
    copy, looks = there("used"), []
    for mirror, place in ((URL, f"{URL}/used/one"), ("copies", FOLDER / "copies/used/one")):
        refused = run(name="used", results="empty", mirror=mirror, exits=2).said()
        assert f"{place}: the mirror has a run of this id" in refused and "resume" in refused, refused
    assert not (FOLDER / "empty/used/one").exists()

    def away_first(environ, _):
        looks.append(environ)
        return ("503 Slow Down", [], b"") if len(looks) == 1 else None

    with SERVER.spoilt(away_first):
        command = run(name="used", results="empty")
    assert "another run is there, which began at" in command.said(), command
    assert there("used") == copy
    refused = run("run", "plain.toml", exits=2, checkpoint__mirror='"https://host/runs"').said()
    assert "s3, gs or abfs" in refused, refused
    for url in ("gcs://data/runs", "S3://data/runs", "abfss://data@account.net/runs"):
        assert "there is no scheme" in run("run", "plain.toml", exits=2, checkpoint__mirror=f'"{url}"').said()
    assert "takes a folder" in run("show", "used/one", results="s3://data/runs", exits=2).said()


def test_commands_read_copies():
    run(name="read", checkpoint__keep_last=1)
    mirrored = f"{URL}/read/one"
    for key in ("../../../../evil", "sources/../../../evil", "/evil", "checkpoints/step-00000001/state.json"):
        SERVER.put(f"runs/read/one/{key}", b"names of a server must not lead elsewhere")
    listed = Command([PROGRAM, "list", "--results", URL, "--name", "read"], FOLDER, ENVIRONMENT)
    assert listed.wait(120) == 0 and "read" in listed.printed() and "completed" in listed.printed(), listed
    refused = run("show", "s3://me:word@data/runs/read/one", exits=2).said()
    assert "no user" in refused and "word" not in refused, refused
    shown = run("show", mirrored, results="none").printed()
    assert "completed" in shown and mirrored in shown, shown
    assert run("eval", mirrored).printed() == run("eval", "read/one").printed()
    run("fork", mirrored, "--name", "forked", "--run-id", "one", epochs=7, checkpoint__mirror='""')
    run("fork", "read/one", "--name", "forked_here", "--run-id", "one", epochs=7, checkpoint__mirror='""')
    assert result(FOLDER / "results/forked/one") == result(FOLDER / "results/forked_here/one")
    assert not list((FOLDER / "cache/ddp-exp/runs").iterdir()) and not list(FOLDER.rglob("evil"))


def test_the_ladder_holds_here_and_there():
    run(name="ladder", checkpoint__ladder="true", checkpoint__save_every_steps=1, checkpoint__keep_best=0, epochs=2)
    kept = complete(here(FOLDER / "results/ladder/one"))
    assert complete(there("ladder")) == kept
    ages = [kept[-1] - step for step in kept[:-1]]
    for k in range((kept[-1] - 1).bit_length()):
        assert len([age for age in ages if 2**k <= age < 2 ** (k + 1)]) in (1, 2), (k, kept)
    refused = run(name="both_kinds", checkpoint__ladder="true", checkpoint__keep_last=3, exits=2).said()
    assert "ladder" in refused and "keep_last" in refused, refused


for name, test in list(globals().items()):
    if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name):
        test()
        print("passed:", name, flush=True)
SERVER.close()
