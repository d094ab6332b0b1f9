"""Initial values and outputs of models and layers. tests/parity/test_kept_values.py runs this file and says how."""

import torch
from components import MODELS, named
from kept_values import kept, kept_all, ramp

SEED = 3


def model(input_shape, **options):
    """The model after its construction, its output in training, and its output in evaluation."""
    torch.manual_seed(SEED)
    built = named(MODELS, options)
    case = {"options": options, "input": input_shape, "parameters": kept_all(built.named_parameters()),
            "buffers": kept_all(built.named_buffers())}  # fmt: skip
    built.train()
    case["trained_output"] = kept(built(ramp(*input_shape)))
    built.eval()
    case["output"] = kept(built(ramp(*input_shape)))
    return case


def layer(input_shape, type, **arguments):
    return model(input_shape, name="sequential", layers=[{"type": type, **arguments}])


def mlp(**options):
    return model([3, 6], **{"name": "mlp", "in_features": 6, "hidden": [5], "out_features": 2} | options)


def tables():
    models = {
        "toy": model([2, 10], name="toy"),
        "toy_mp": model([2, 10], name="toy_mp"),
        "head_tail": model([2, 32], name="head_tail"),
        "linear": model([2, 20], name="linear"),
        "linear sizes": model([2, 7], name="linear", in_features=7, out_features=3),
        "mlp": mlp(),
        "mlp without a hidden layer": mlp(hidden=[]),
        "mlp two hidden layers": mlp(hidden=[5, 4]),
        "mlp dropout": mlp(hidden=[8, 8], dropout=0.4),
        **{f"mlp {name}": mlp(activation=name) for name in ("tanh", "gelu", "sigmoid", "silu", "leaky_relu")},
    }
    image = [1, 4, 4, 4]
    signal = [2, 4, 6]
    layers = {
        "Linear": layer([2, 6], "Linear", in_features=6, out_features=3),
        "Linear without bias": layer([2, 6], "Linear", in_features=6, out_features=3, bias=False),
        "Dropout": layer([2, 20], "Dropout", p=0.3),
        "Flatten": layer(image, "Flatten", start_dim=2),
        "Unflatten": layer([2, 6], "Unflatten", dim=1, unflattened_size=[2, 3]),
        "Identity": layer([2, 6], "Identity"),
        "Conv1d": layer(signal, "Conv1d", in_channels=4, out_channels=2, kernel_size=3, padding=1),
        "Conv2d": layer(image, "Conv2d", in_channels=4, out_channels=2, kernel_size=3),
        "Conv2d lists, groups": layer(image, "Conv2d", in_channels=4, out_channels=4, kernel_size=[3, 2],
                                      stride=[2, 1], padding=[1, 0], dilation=1, groups=2, bias=False),
        "Conv2d reflect": layer(image, "Conv2d", in_channels=4, out_channels=2, kernel_size=3, padding=1,
                                padding_mode="reflect"),
        "Conv2d replicate": layer(image, "Conv2d", in_channels=4, out_channels=2, kernel_size=3, padding=1,
                                  padding_mode="replicate"),
        "Conv2d circular": layer(image, "Conv2d", in_channels=4, out_channels=2, kernel_size=3, padding=1,
                                 padding_mode="circular"),
        "ConvTranspose2d": layer(image, "ConvTranspose2d", in_channels=4, out_channels=2, kernel_size=2, stride=2,
                                 output_padding=1),
        "BatchNorm1d": layer(signal, "BatchNorm1d", num_features=4),
        "BatchNorm2d": layer(image, "BatchNorm2d", num_features=4, momentum=0.3, eps=0.001),
        "BatchNorm2d without affine": layer(image, "BatchNorm2d", num_features=4, affine=False),
        "BatchNorm2d without statistics": layer(image, "BatchNorm2d", num_features=4, track_running_stats=False),
        "LayerNorm": layer(signal, "LayerNorm", normalized_shape=6),
        "LayerNorm list": layer(signal, "LayerNorm", normalized_shape=[4, 6], elementwise_affine=False, eps=0.001),
        "GroupNorm": layer(image, "GroupNorm", num_groups=2, num_channels=4),
        "MaxPool1d": layer(signal, "MaxPool1d", kernel_size=2),
        "MaxPool2d": layer(image, "MaxPool2d", kernel_size=[3, 2], stride=[1, 2], padding=[1, 0], ceil_mode=True),
        "AvgPool1d": layer(signal, "AvgPool1d", kernel_size=2, stride=1),
        "AvgPool2d": layer(image, "AvgPool2d", kernel_size=3, padding=1, count_include_pad=False),
        "AdaptiveAvgPool1d": layer(signal, "AdaptiveAvgPool1d", output_size=4),
        "AdaptiveAvgPool2d": layer(image, "AdaptiveAvgPool2d", output_size=[2, 3]),
        "ReLU": layer([2, 6], "ReLU"),
        "Tanh": layer([2, 6], "Tanh"),
        "Sigmoid": layer([2, 6], "Sigmoid"),
        "SiLU": layer([2, 6], "SiLU"),
        "GELU": layer([2, 6], "GELU"),
        "GELU tanh": layer([2, 6], "GELU", approximate="tanh"),
        "LeakyReLU": layer([2, 6], "LeakyReLU", negative_slope=0.2),
        "ELU": layer([2, 6], "ELU", alpha=0.7),
        "Softmax": layer([2, 6], "Softmax", dim=1),
        "LogSoftmax": layer([2, 6], "LogSoftmax", dim=1),
    }  # fmt: skip
    return {"models.json": models, "layers.json": layers}
