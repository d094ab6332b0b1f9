"""Models with batch norms of all kinds, in float64: their data are float32."""

import torch
from torch import nn

from architectures import MobileNetV3, ResNet18


class InDouble(nn.Module):
    def __init__(self, net):
        super().__init__()
        for layer in net.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0  # ranks have generators of their own
        self.net = net.double()

    def forward(self, x):
        return self.net(x.double())


class Mixed(nn.Module):
    """Batch norms in training and in evaluation mode, and a norm of instances."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1)
        self.norm, self.frozen, self.instance = nn.BatchNorm2d(6), nn.BatchNorm2d(6), nn.InstanceNorm2d(6, affine=True)
        self.last = nn.BatchNorm2d(6, momentum=0.5)
        self.head = nn.Linear(6, 4)

    def train(self, mode=True):
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = x + torch.tanh(self.frozen(self.second(x)))
        return self.head(self.last(self.instance(x).exp()).square().mean((2, 3)))


def residual():
    return InDouble(ResNet18())


def mobile():
    return InDouble(MobileNetV3())


def mixed():
    return InDouble(Mixed())


def series():
    return InDouble(
        nn.Sequential(
            nn.Conv1d(6, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3), nn.BatchNorm1d(8, affine=False),
            nn.Flatten(), nn.Linear(48, 4))
    )  # fmt: skip


def volume():
    return InDouble(
        nn.Sequential(
            nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4, momentum=0.3), nn.Tanh(), nn.ConvTranspose3d(4, 4, 2),
            nn.BatchNorm3d(4, track_running_stats=False), nn.Flatten(), nn.Linear(500, 4))
    )  # fmt: skip
