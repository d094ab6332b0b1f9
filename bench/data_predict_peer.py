"""The peer of bench/data_predict.py.

data_predict_peer.py predict RUN INPUT OUTPUT BATCH THREADS    with the weights and the preprocessing of a run
data_predict_peer.py compare A B                               fails if the two outputs differ
"""

import json
import os
import pathlib
import sys
import time

import numpy
import pandas
import torch
from safetensors.torch import load_file
from torch import nn


def checkpoint_of(run):
    return next(iter(sorted(pathlib.Path(run, "checkpoints").glob("*/model.safetensors")))).parent


def load_model(checkpoint):
    model = nn.Sequential(nn.Linear(19, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    weights = load_file(checkpoint / "model.safetensors")
    model.load_state_dict(dict(zip(model.state_dict(), weights.values(), strict=True)))
    return model.eval()


def predict(run, file, output, batch_size):
    checkpoint = checkpoint_of(run)
    model = load_model(checkpoint)
    fitted = json.loads((checkpoint / "preprocessing.json").read_text())
    table = pandas.read_csv(file) if file.endswith(".csv") else pandas.read_parquet(file)
    names = [feature["name"] for feature in fitted["features"]]
    means, scales = (numpy.array([one["scale"][key] for one in fitted["features"]]) for key in ("shift", "factor"))
    inputs = torch.from_numpy(((table[names].to_numpy() - means) / scales).astype(numpy.float32))
    parts = []
    with torch.no_grad():
        for begin in range(0, len(inputs), batch_size):
            parts.append(torch.softmax(model(inputs[begin : begin + batch_size]), 1))
    probabilities = torch.cat(parts).numpy()
    if output.endswith(".npy"):
        numpy.save(output, probabilities)
        return
    classes = numpy.array(fitted["classes"])
    columns = {"prediction": classes[probabilities.argmax(1)]}
    columns |= {f"probability_{name}": probabilities[:, i] for i, name in enumerate(classes)}
    pandas.DataFrame(columns).to_csv(output, index=False)


def numbers(file):
    if file.endswith(".npy"):
        return numpy.load(file)
    return pandas.read_csv(file).iloc[:, 1:].to_numpy()


def compare(ours, theirs):
    numpy.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-4, atol=1e-6)
    return {}


def main(what, *arguments):
    if what == "compare":
        return compare(*arguments)
    run, file, output, batch_size, threads = arguments
    torch.set_num_threads(int(threads))
    start, times = time.perf_counter(), os.times()
    predict(run, file, output, int(batch_size))
    seconds, end = time.perf_counter() - start, os.times()
    return {"seconds": seconds, "cpu": end.user - times.user + end.system - times.system}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
