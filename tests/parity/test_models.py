"""Every model, layer, dataset and loss: the same parameters and buffers as PyTorch's Python, and the same losses."""

import sys

from parity import case, check

DIGITS = {"name": "digits"}
IMAGE = {"type": "Unflatten", "dim": 1, "unflattened_size": [1, 8, 8]}
SIGNAL = {"type": "Unflatten", "dim": 1, "unflattened_size": [4, 5]}  # for the 20 features of a random pair
RELU = {"type": "ReLU"}
FLAT = {"type": "Flatten"}


def layer(type, **arguments):
    return {"type": type, **arguments}


def dense(inputs, outputs=4):
    return layer("Linear", in_features=inputs, out_features=outputs)


def on_pairs(title, *layers, **experiment):
    return case(title, model={"name": "sequential", "layers": list(layers)}, **experiment)


def on_digits(title, *layers, **experiment):
    options = {"dataset": DIGITS, "loss": "cross_entropy", "batch_size": 64, "epochs": 1} | experiment
    return case(title, model={"name": "sequential", "layers": list(layers)}, **options)


def mlp(hidden, **options):
    return {"name": "mlp", "in_features": 20, "hidden": hidden, "out_features": 4, **options}


TOY = {"model": {"name": "toy"}, "dataset": {"name": "random_batch"}, "batch_size": 20}
CONV = layer("Conv2d", in_channels=1, out_channels=8, kernel_size=3, padding=1)

CASES = [
    case("toy, one step as in the tutorial", **TOY, steps=1, optimizer={"name": "sgd", "lr": 0.001}),
    case("toy, 40 steps", **TOY, steps=40),
    case("toy, random_batch with sizes", model={"name": "toy"}, batch_size=7, steps=9,
         dataset={"name": "random_batch", "inputs": 10, "targets": 5}),
    case("linear, MyTrainDataset as in the series", model={"name": "linear"}, dataset={"name": "random_pairs"},
         batch_size=32, optimizer={"name": "sgd", "lr": 0.001}),
    case("linear, cross_entropy over one class", model={"name": "linear"}, dataset={"name": "random_pairs", "size": 64},
         loss="cross_entropy"),
    case("linear, with sizes", model={"name": "linear", "in_features": 7, "out_features": 3},
         dataset={"name": "random_pairs", "size": 50, "features": 7, "targets": 3}),
    case("mlp without a hidden layer", model=mlp([])),
    case("mlp, two hidden layers", model=mlp([32, 17])),
    case("mlp, tanh", model=mlp([16], activation="tanh")),
    case("mlp, gelu", model=mlp([16], activation="gelu")),
    case("mlp, sigmoid", model=mlp([16], activation="sigmoid")),
    case("mlp, silu", model=mlp([16], activation="silu")),
    case("mlp, leaky_relu", model=mlp([16], activation="leaky_relu")),
    case("mlp, dropout", model=mlp([32, 32], dropout=0.3)),
    case("mlp, dropout, random_batch", model=mlp([32], dropout=0.5), steps=20, accumulate=2,
         dataset={"name": "random_batch", "inputs": 20, "targets": 4}),
    case("mlp, probabilities as targets", model=mlp([16]), loss="cross_entropy"),
    case("mlp, digits", model={"name": "mlp", "in_features": 64, "hidden": [64], "out_features": 10}, dataset=DIGITS,
         loss="cross_entropy", batch_size=32),
    case("another seed", model=mlp([16], dropout=0.1), seed=7),
    case("another sampler seed", model=mlp([16]), loader={"sampler_seed": 5}),
    case("no shuffle", model=mlp([16], dropout=0.1), loader={"shuffle": False}),
    case("no loader worker", model=mlp([16], dropout=0.1), loader={"workers": 0}),
    case("four loader workers", model=mlp([16], dropout=0.1), loader={"workers": 4}),
    case("odd widths, whose samples start anywhere", model={"name": "linear", "in_features": 21, "out_features": 1},
         dataset={"name": "random_pairs", "size": 200, "features": 21}, batch_size=7),
    on_digits("Conv2d, BatchNorm2d, MaxPool2d", IMAGE, CONV, layer("BatchNorm2d", num_features=8), RELU,
              layer("MaxPool2d", kernel_size=2), FLAT, dense(128, 10), epochs=2),
    on_digits("Conv2d, strides as lists, groups, no bias", IMAGE, CONV,
              layer("Conv2d", in_channels=8, out_channels=8, kernel_size=[3, 2], stride=[2, 1], padding=[1, 0],
                    dilation=1, groups=4, bias=False), RELU, FLAT, dense(224, 10)),
    on_digits("Conv2d, reflected padding", IMAGE,
              layer("Conv2d", in_channels=1, out_channels=4, kernel_size=3, padding=1, padding_mode="reflect"), FLAT,
              dense(256, 10)),
    on_digits("ConvTranspose2d", IMAGE,
              layer("ConvTranspose2d", in_channels=1, out_channels=4, kernel_size=2, stride=2), RELU,
              layer("AvgPool2d", kernel_size=4), FLAT, dense(64, 10)),
    on_digits("GroupNorm", IMAGE, CONV, layer("GroupNorm", num_groups=2, num_channels=8), RELU,
              layer("AdaptiveAvgPool2d", output_size=[2, 2]), FLAT, dense(32, 10)),
    on_digits("BatchNorm2d without affine, another momentum", IMAGE, CONV,
              layer("BatchNorm2d", num_features=8, affine=False, momentum=0.3, eps=0.001), RELU, FLAT, dense(512, 10)),
    on_digits("BatchNorm2d without running statistics", IMAGE, CONV,
              layer("BatchNorm2d", num_features=8, track_running_stats=False), RELU, FLAT, dense(512, 10)),
    on_pairs("Conv1d, MaxPool1d", SIGNAL,
             layer("Conv1d", in_channels=4, out_channels=6, kernel_size=3, padding=1), RELU,
             layer("MaxPool1d", kernel_size=2), FLAT, dense(12)),
    on_pairs("AvgPool1d, AdaptiveAvgPool1d", SIGNAL, layer("AvgPool1d", kernel_size=2, stride=1),
             layer("AdaptiveAvgPool1d", output_size=3), FLAT, dense(12)),
    on_pairs("BatchNorm1d", dense(20, 16), layer("BatchNorm1d", num_features=16), RELU, dense(16)),
    on_pairs("LayerNorm", dense(20, 16), layer("LayerNorm", normalized_shape=16), RELU, dense(16)),
    on_pairs("LayerNorm, a list, no affine", SIGNAL,
             layer("LayerNorm", normalized_shape=[4, 5], elementwise_affine=False, eps=0.001), FLAT, dense(20)),
    on_pairs("Dropout between layers", dense(20, 16), RELU, layer("Dropout", p=0.4), dense(16)),
    on_pairs("Linear without bias, Identity", layer("Linear", in_features=20, out_features=16, bias=False),
             layer("Identity"), dense(16)),
    on_pairs("activations with arguments", dense(20, 16), layer("LeakyReLU", negative_slope=0.2), dense(16, 16),
             layer("GELU", approximate="tanh"), dense(16, 16), layer("SiLU"), layer("Tanh"), layer("Sigmoid"),
             dense(16)),
    on_digits("BatchNorm2d, Dropout, accumulate, three ranks", IMAGE, CONV, layer("BatchNorm2d", num_features=8), RELU,
              FLAT, layer("Dropout", p=0.25), dense(512, 10), world=3, accumulate=2, batch_size=50, epochs=2),
]  # fmt: skip

sys.exit(check(CASES))
