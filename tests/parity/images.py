"""torchvision's image models under the names of an experiment file.

torchvision is imported where it is needed: the other parity tests run without it.

    python images.py folder    saves a ResNet's state_dict as one that DDP wraps has it
"""

import contextlib
import functools
import os
import sys
from unittest import mock

import safetensors.torch
from torch import nn


class FirstOfSmallImages(nn.Conv2d):
    """The first convolution of a ResNet is constructed as 3x3 with stride 1; the others stay."""

    def __init__(self, *arguments, **options):
        if options["kernel_size"] == 7:
            options |= {"kernel_size": 3, "stride": 1, "padding": 1}
        super().__init__(*arguments, **options)


def resnet(name, num_classes, small_images=False):
    from torchvision import models

    with mock.patch.object(nn, "Conv2d", FirstOfSmallImages) if small_images else contextlib.nullcontext():
        model = getattr(models, name)(num_classes=num_classes)
    if small_images:
        model.maxpool = nn.Identity()
    return model


def vit(**options):
    from torchvision.models import VisionTransformer

    return VisionTransformer(**options)


def save_weights(folder):
    weights = resnet("resnet18", num_classes=9, small_images=True).state_dict()
    file = os.path.join(folder, "wrapped.safetensors")
    safetensors.torch.save_file({f"module.{name}": tensor for name, tensor in weights.items()}, file)


RESNETS = {f"resnet{depth}": functools.partial(resnet, f"resnet{depth}") for depth in (18, 34, 50, 101, 152)}


if __name__ == "__main__":
    save_weights(sys.argv[1])
