"""Public models with random weights: exported by one command, trained by ddp-exp, and compared with PyTorch's Python bit
for bit: on one rank and on two, with replayed steps and without.

    python coverage.py [--library NAME] [--only NAME...] [--sample N] [--results FILE] [--again]

FILE (JSON lines) keeps the result of each model; those that it has already are not tried again without --again. A run
of all models writes docs/models.md.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import zipfile

os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # ranks.py forks this process

import parity  # noqa: E402, F401 (before numpy, which would start threads)
import numpy as np  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402

import components  # noqa: E402
import exported_models  # noqa: E402
import program  # noqa: E402
import public_models  # noqa: E402
import ranks  # noqa: E402
from result import differences  # noqa: E402

sys.path.append(os.path.join(os.environ["DDP_SOURCE"], "python"))
import export_checks  # noqa: E402
import export_model  # noqa: E402

ROWS, BATCH, STEPS = 16, 2, 7  # the last steps are replayed
OPTIMIZER = {"name": "sgd", "lr": 0.001, "momentum": 0.9}
SECONDS, BYTES = 600, 12 << 30  # of one model
OF_EXPORT = "torch.export cannot save the model"


def squares(*outputs):
    """A loss for models that compute none: each number of each output has a gradient of its own size; masks have -inf."""
    numbers = [one.nan_to_num(0.0, 0.0, 0.0) for one in outputs if one.is_floating_point()]
    return sum((one - torch.arange(one.shape[-1]) / one.shape[-1] if one.dim() else one).square().mean() for one in numbers)


def load_file(path):
    """Returns the tensors of a file as arrays. NumPy has no bfloat16: those tensors are arrays of their bits."""
    tensors = safetensors.torch.load_file(path)
    return {name: (one.view(torch.int16) if one.dtype == torch.bfloat16 else one).numpy() for name, one in tensors.items()}


def in_child(function, *arguments):
    """Returns what a function returns in a forked process, or how that ended."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.close(read)
        status = 1
        with contextlib.suppress(BaseException):
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            try:
                answer = function(*arguments)
            except (Exception, SystemExit) as error:
                answer = {"error": "".join(traceback.format_exception_only(error)).strip()[:2000]}
            os.write(write, json.dumps(answer).encode())
            status = 0
        os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else {"error": f"ended with {os.waitstatus_to_exitcode(status)}"}


def export(command, path):
    """Exports a model, and leaves beside it random data and what the reference needs. Returns the loss of the experiment."""
    torch.set_num_threads(1)
    model, *options = command
    if "--loss-from-model" not in options:
        options = [*options, "--loss", f"{os.path.abspath(__file__)}:squares"]
    sys.argv = ["export_model.py", model, path, *options]
    parsed = export_model.parsed()
    try:
        export_model.run(parsed)
    except export_model.Refused as error:
        return {"refused": str(error)}
    with zipfile.ZipFile(path) as archive:
        facts = json.loads(archive.read(next(name for name in archive.namelist() if name.endswith("ddp-exp.json"))))
    torch.manual_seed(1)
    arrays = {f"x{i}": one.sample(batch=ROWS).numpy() for i, one in enumerate(parsed.input)}
    targets = {f"y{i}": one.sample(batch=ROWS).numpy() for i, one in enumerate(parsed.target)}
    np.savez(path + ".npz", x=np.zeros(ROWS, dtype=np.float32), **arrays, **targets)
    keywords = [one["name"] for one in facts["arguments"]]
    with open(path + ".json", "w") as file:
        json.dump({"argv": sys.argv[1:], "keywords": keywords}, file)
    reference = eager(path)
    batch = [torch.from_numpy(one[:BATCH].copy()) for one in [*arrays.values(), *targets.values()]]
    outputs = export_checks.outputs_by_name(reference.train()(*batch if parsed.loss_from_model else batch[: len(arrays)]))
    loss = export_checks.loss_in(outputs) if parsed.loss_from_model else squares(*outputs.values())
    loss.mean().backward()
    unused = facts["skips_empty"] or any(one.grad is None for one in reference.parameters() if one.requires_grad)

    def files(file):
        evaluation = file.replace(".pt2", ".eval.pt2")
        return {"name": "exported", "path": file} | ({"eval": evaluation} if os.path.exists(evaluation) else {})

    return {
        "model": files(path) | {"init": "file"},
        "loss": "model" if parsed.loss_from_model else files(path.replace(".pt2", ".loss.pt2")),
        "dataset": {"name": "npz", "path": path + ".npz", "inputs": list(arrays)} | ({"targets": list(targets)} if targets else {}),
        "batch_size": BATCH, "steps": STEPS, "optimizer": OPTIMIZER,
        "checkpoint": {"keep_best": 0}, "log": {"tensorboard": False},
    } | ({"distributed": {"find_unused_parameters": True}} if unused else {})  # fmt: skip


def eager(path, **_):
    """The unchanged class of an exported model, with the weights of the same seed; its forward takes all by position."""
    with open(path + ".json") as file:
        kept = json.load(file)
    sys.argv = ["export_model.py", *kept["argv"]]
    options = export_model.parsed()
    options.folder = None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = export_model.build(options.model, options)
    signature = list(export_model.parameter_names(model.forward))
    keywords = [name if name not in signature[:i + 1] or signature[i] != name else "" for i, name in enumerate(kept["keywords"])]
    export_model.wrap_forward(model, keywords)
    forward = type(model).forward
    # The reference gives a loss each of several outputs.
    type(model).forward = lambda *inputs: (one,) if isinstance(one := forward(*inputs), torch.Tensor) else one
    return model


torch.set_num_threads(1)
components.MODELS["exported"] = eager
exported_models.load_loss = lambda path: squares
program.load_file = ranks.load_file = load_file
os.environ["HF_HUB_OFFLINE"] = "1"


def train(experiment, world, folder):
    """Returns the differences of ddp-exp and Python, and how many steps were replayed."""
    reference = ranks.run_reference(experiment, world, folder)
    if not all(np.isfinite(one).all() for one in reference.tensors.values()):
        raise RuntimeError("its weights are not finite")
    found, replayed = [], {}
    for replay in ("off", "auto"):
        where = os.path.join(folder, replay)
        os.makedirs(where)
        try:
            ours = program.run_program(experiment | {"replay": replay}, world, where, "shm")
        except RuntimeError as error:
            text = str(error)
            return ({"refused": text} if "exited with 2:" in text else {"crash": text}), {}
        found += [f"{world} ranks, replay {replay}: {line}" for line in differences(ours, reference)]
        with open(os.path.join(where, "results/case/shm/summary.json")) as file:
            replayed = json.load(file)["replay"]
    return {"differs": found} if found else {}, replayed


def check(library, name, family, commands, drops):
    """Returns the result of one model."""
    result = {"library": library, "name": name, "family": family, "drops": drops}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ddp-exp-coverage-") as folder:
        if commands is None:
            found = in_child(lambda: {"commands": public_models.arguments_of_transformers(name, drops)})
            if "error" in found:
                return result | {"status": "not built", "reason": found["error"]}
            commands = found["commands"]
        for command in commands:
            path = os.path.join(folder, "net.pt2")
            experiment = in_child(export, command, path)
            refused = experiment.get("refused", "")
            without_loss = f'fails on random inputs|cannot be called|--target is missing|dict without "loss"|{OF_EXPORT}'
            if not re.search(without_loss, refused) and "error" not in experiment:
                break
        result["seconds"] = round(time.monotonic() - began, 1)
        if "error" in experiment:
            return result | {"status": "crash", "reason": experiment["error"]}
        if refused:
            missing = r"--input is missing|--target is missing|fails on random inputs|cannot be called|--config"
            status = "export" if OF_EXPORT in refused else "not built" if re.search(missing, refused.partition("\n")[0]) else "refused"
            return result | {"status": status, "reason": refused}
        result["unused"] = "distributed" in experiment
        for world in (1, 2):
            where = os.path.join(folder, str(world))
            os.mkdir(where)
            try:
                lines, replay = train(experiment, world, where)
            except Exception as error:  # of the reference
                return result | {"status": "python fails", "reason": f"{error}"[-1500:]}
            if lines:
                (status, reason), = lines.items()
                return result | {"status": status, "reason": reason if isinstance(reason, str) else "\n".join(reason)}
            result[f"replayed_{world}"] = replay.get("steps")
            result["replay_reason"] = replay.get("reason")
    return result | {"status": "same", "seconds": round(time.monotonic() - began, 1)}


PAGE = """# Public models

Models of torchvision, timm and transformers, with random weights and at a reduced size: each is exported by one command,
trains some steps on one rank and on two, eager and replayed, and has the bits of PyTorch's Python (DDP over Gloo).
`scripts/coverage` measures and writes this page; [from-pytorch.md](from-pytorch.md) says how to export a model.

Of timm one variant of each module is tried; of transformers one class for each kind of configuration. A loss is the
model's own, or one of all its outputs. "Not built": the rules of `tests/parity/public_models.py` build no small model
from its configuration, a package is missing, or it takes more than plain tensors of a known shape, as detectors do in
training. "Python fails": its weights are not finite after the steps, or it raises an error under DDP.

"""


def table(rows):
    """Returns the rows of a table of Markdown; the first one is its head."""
    lines = ["| " + " | ".join(one.replace("|", "\\|") for one in row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


def reason_of(result):
    """Returns the cause of a result in one line, without the folders of this machine."""
    lines = [line.strip() for line in result["reason"].splitlines() if "ddp-exp run" not in line]
    text = lines[0].removeprefix("error: ").removeprefix(f"{OF_EXPORT}: ")
    place = re.search(r'File "[^"]*?/(torchvision|timm|transformers)/([^"]*)", line (\d+)', result["reason"])
    text = re.sub(r"/\S*/(?=[^/\s]+\.pt2)", "", text)[:160]
    return text + (f" ({place[1]}/{place[2]}:{place[3]})" if place else "")


def page(results):
    """Returns docs/models.md."""
    kinds = {"same": "Python's bits", "refused": "refused", "export": "torch.export cannot", "python fails": "Python fails", "not built": "not built"}
    wrong = [one for one in results if one["status"] not in kinds]
    counts, details = [["library", "models tried", *kinds.values(), "wrong"]], ""
    for library in public_models.LIBRARIES:
        own = sorted((one for one in results if one["library"] == library), key=lambda one: (one["family"], one["name"]))
        of = {kind: [one for one in own if one["status"] == kind] for kind in kinds}
        tried = len(own) - len(of["not built"])
        failed = [one for one in wrong if one["library"] == library]
        counts.append([library, str(tried), *(str(len(some)) for some in of.values()), str(len(failed))])
        details += f"\n## {library}\n\nThese train with Python's bits: {', '.join(one['name'] for one in of['same'])}.\n"
        others = [[one["family"], one["name"], kinds.get(one["status"], one["status"]), reason_of(one)]
                  for one in own if one["status"] not in ("same", "not built")]  # fmt: skip
        if others:
            details += "\n" + table([["family", "model", "result", "reason"], *others])
        if of["not built"]:
            details += f"\nNot built: {', '.join(one['name'] for one in of['not built'])}.\n"
        if left_out := sorted({one[0] for one in public_models.LIBRARIES[library]()} - {one["name"] for one in own}):
            details += f"\nLeft out of the last run: {', '.join(left_out)}.\n"
    return PAGE + table(counts) + details


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=public_models.LIBRARIES, action="append")
    parser.add_argument("--only", nargs="*", help="models with these names, in which * stands for any letters")
    parser.add_argument("--sample", type=int, help="so many models of each library")
    parser.add_argument("--results", default="build/coverage.jsonl", help="file that keeps the results, JSON lines")
    parser.add_argument("--again", action="store_true", help="try models that FILE has once more")
    parser.add_argument("--without-dropout", action="store_true", help="all rates of dropout are 0")
    options = parser.parse_args()
    known = {}
    if os.path.exists(options.results):
        with open(options.results) as file:
            for line in file:
                one = json.loads(line)
                known[one["library"], one["name"], one["drops"]] = one
    counts = {}
    for library in options.library or public_models.LIBRARIES:
        models = [one for one in public_models.LIBRARIES[library]() if not options.only or any(fnmatch.fnmatch(one[0], name) for name in options.only)]
        models = random.Random(0).sample(models, min(options.sample, len(models))) if options.sample else models
        for name, family, commands in models:
            key = library, name, not options.without_dropout
            if key in known and not options.again:
                continue
            result = check(*key[:2], family, commands, key[2])
            known[key] = result
            with open(options.results, "a") as file:
                file.write(json.dumps(result) + "\n")
            counts[result["status"]] = counts.get(result["status"], 0) + 1
            print(f"{result['status']:12}{library} {name} ({result.get('seconds')} s)", flush=True)
            for line in result.get("reason", "").splitlines()[:6] if result["status"] != "same" else []:
                print(f"            {line[:200]}", flush=True)
    if not (options.library or options.only or options.sample):
        with open(os.path.join(os.environ["DDP_SOURCE"], "docs", "models.md"), "w") as file:
            file.write(page([one for key, one in known.items() if key[2]]))
    print(counts)
    return 1 if {"crash", "differs"} & set(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
