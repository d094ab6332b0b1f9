"""`export RUN OUT.pt2` returns the trained model of Python: torch.export.load reads it, runs it and compiles it, and
with --eval it gives the outputs of `predict`, bit for bit."""

import os
import sys
import tempfile
import zipfile

from program import call, complete, to_toml

sys.path.insert(0, os.path.join(os.environ["DDP_SOURCE"], "python"))

import export_model
import numpy
import torch
from safetensors.torch import load_file

import exported_models
from exported_models import INPUTS

ROWS, BATCH = 45, 8
# name, ranks; the last batch of predict is short
CASES = [("Cnn", 2), ("Lstm", 1), ("Branching", 2), ("Dictionary", 1), ("gpt", 2)]


def inputs_of(name):
    generator = torch.Generator().manual_seed(1)
    shape, *kind = INPUTS[name][0].split(":")
    sizes = [ROWS, *map(int, shape.split("x"))]
    if kind:
        return torch.randint(0, int(kind[1]), sizes, generator=generator)
    return torch.randn(sizes, generator=generator)


def train(folder, name, world, inputs):
    """The files of the model, and the folder of its run."""
    archive = os.path.join(folder, f"{name}.pt2")
    sys.argv = ["export_model.py", f"exported_models:{name}", archive, "--input", INPUTS[name][0]]
    export_model.main()
    second = os.path.join(folder, f"{name}.eval.pt2")
    targets = inputs if name == "gpt" else torch.arange(ROWS) % 4
    numpy.save(os.path.join(folder, f"{name}-x.npy"), inputs.numpy())
    numpy.save(os.path.join(folder, f"{name}-y.npy"), targets.numpy())
    experiment = {
        "dataset": {"name": "npy", "inputs": os.path.join(folder, f"{name}-x.npy"), "targets": os.path.join(folder, f"{name}-y.npy")},
        "model": {"name": "exported", "path": archive} | ({"eval": second} if os.path.exists(second) else {}),
        "loss": "cross_entropy",
        "optimizer": {"name": "sgd", "lr": 0.05},
        "batch_size": BATCH,
        "epochs": 2,
    }  # fmt: skip
    file = os.path.join(folder, f"case-{name.lower()}.toml")
    with open(file, "w") as out:
        out.write(to_toml(complete(experiment, world, "auto")))
    return archive, second, call("run", file, "--results", os.path.join(folder, "results")).strip()


def members(archive):
    """The members without the first folder of their names."""
    with zipfile.ZipFile(archive) as file:
        assert file.testzip() is None
        return {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}


def require_same_members(archive, written, graph_may_differ):
    before, after = members(archive), members(written)
    assert before.keys() == after.keys(), f"{sorted(before)} became {sorted(after)}"
    # The zip writer computes this member from all that it writes.
    differ = {name for name in before if before[name] != after[name]} - {".data/serialization_id"}
    weights = {name for name in before if name.startswith("data/weights/") and not name.endswith(".json")}
    assert differ and differ <= weights | ({"models/model.json"} if graph_may_differ else set()), differ


def logits(output):
    return output["logits"] if isinstance(output, dict) else output


def require_same(found, expected):
    assert found.keys() == expected.keys(), f"{sorted(found)} instead of {sorted(expected)}"
    for name, tensor in expected.items():
        assert found[name].detach().numpy().tobytes() == tensor.numpy().tobytes(), name


def check_case(folder, name, world):
    inputs = inputs_of(name)
    archive, second, run = train(folder, name, world, inputs)
    trained, evaluates, weights, answers = (f"{run}{end}" for end in ("-t.pt2", "-e.pt2", ".safetensors", ".npy"))
    call("export", run, trained)
    call("export", run, evaluates, "--eval")
    call("export", run, weights)
    require_same_members(archive, trained, graph_may_differ=False)
    has_second = os.path.exists(second)
    require_same_members(second if has_second else archive, evaluates, graph_may_differ=not has_second)

    program = torch.export.load(trained)
    expected = load_file(weights)
    require_same(program.state_dict, expected)
    assert torch.isfinite(logits(program.module()(inputs[:BATCH]))).all()

    model = torch.export.load(evaluates).module()
    authors = getattr(exported_models, name)()
    authors.load_state_dict(expected)
    with torch.no_grad():
        found = torch.cat([logits(model(batch)) for batch in inputs.split(BATCH)])
        own = torch.cat([logits(authors.eval()(batch)) for batch in inputs.split(BATCH)])
    assert found.numpy().tobytes() == own.numpy().tobytes(), f"by {(found - own).abs().max()}"
    if name != "gpt":  # predict does not accept an answer for each position of a row
        call("predict", run, os.path.join(folder, f"{name}-x.npy"), "-o", answers)
        got, found = numpy.load(answers), found.softmax(-1).numpy()
        assert got.shape == found.shape and got.tobytes() == found.tobytes(), f"by {numpy.abs(got - found).max()}"
    require_same(model.state_dict(), expected)  # evaluation changes no weight
    print(f"same    {name}, {world} ranks", flush=True)
    return evaluates, inputs


def check_compiled(evaluates, inputs):
    """The example of docs/data.md: torch.compile and AOTInductor."""
    program = torch.export.load(evaluates)
    with torch.no_grad():
        expected = program.module()(inputs)
        assert torch.allclose(torch.compile(program.module())(inputs), expected, atol=1e-5)
        package = torch._inductor.aoti_compile_and_package(program, package_path=evaluates + ".compiled.pt2")
        assert torch.allclose(torch._inductor.aoti_load_package(package)(inputs), expected, atol=1e-5)
    print("torch.compile and AOTInductor give the same outputs", flush=True)


def main(folder):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
    written = {name: check_case(folder, name, world) for name, world in CASES}
    check_compiled(*written["Cnn"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ddp-exp-archives-") as scratch:
        main(scratch)
