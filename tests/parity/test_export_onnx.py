"""The file of `export RUN OUT.pt2 --eval` converts to ONNX as docs/data.md shows. Skipped without the packages onnx and
onnxscript, which the tests do not require."""

import importlib.util
import sys
import tempfile

missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: Python has no {' and no '.join(missing)}")
    sys.exit(77)

import onnx
import torch
from onnx.reference import ReferenceEvaluator

from test_export_archive import check_case


def main(folder):
    archive, inputs = check_case(folder, "Cnn", 1)
    program = torch.export.load(archive)
    file = archive + ".onnx"
    torch.onnx.export(program, dynamo=True).save(file)
    model = onnx.load(file)
    onnx.checker.check_model(model)
    (found,) = ReferenceEvaluator(model).run(None, {model.graph.input[0].name: inputs.numpy()})
    with torch.no_grad():
        expected = program.module()(inputs)
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-5), (torch.from_numpy(found) - expected).abs().max()
    print("ONNX gives the same outputs")


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ddp-exp-onnx-") as scratch:
        main(scratch)
