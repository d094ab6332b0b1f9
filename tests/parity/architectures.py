"""Common architectures as their papers describe them. ConvNeXt-T and Swin-T have a quarter of their widths."""

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 4


def pooled(x):
    return F.adaptive_avg_pool2d(x, 1).flatten(1)


class StochasticDepth(nn.Module):
    """Drops a branch independently for each sample."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        kept = torch.empty([x.shape[0]] + [1] * (x.dim() - 1)).bernoulli_(1 - self.p)
        return x * kept / (1 - self.p)


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


class ResNet18(nn.Module):
    def __init__(self, classes=CLASSES):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        widths = [64, 64, 128, 256, 512]
        blocks = []
        for stage, (before, width) in enumerate(zip(widths, widths[1:])):
            blocks += [ResidualBlock(before, width, 2 if stage else 1), ResidualBlock(width, width, 1)]
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(512, classes)

    def forward(self, x):
        return self.head(pooled(self.blocks(self.stem(x))))


def convolution(inputs, outputs, kernel=1, stride=1, groups=1, activation=None):
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Excitation(nn.Module):
    """Weighs the channels of squeeze-and-excitation."""

    def __init__(self, channels, squeezed, activation, gate):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)
        self.activation, self.gate = activation(), gate()

    def forward(self, x):
        y = self.activation(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        return x * self.gate(self.excite(y))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, inner, outputs, kernel, stride, activation, excitation=None, depth=0.0):
        super().__init__()
        layers = [convolution(inputs, inner, activation=activation)] if inner != inputs else []
        layers.append(convolution(inner, inner, kernel, stride, groups=inner, activation=activation))
        layers += [excitation] if excitation else []
        self.layers = nn.Sequential(*layers, convolution(inner, outputs))
        self.depth = StochasticDepth(depth)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.depth(self.layers(x)) if self.adds else self.layers(x)


class MobileNetV3(nn.Module):
    """MobileNetV3-Small."""

    # kernel, inner, outputs, squeeze-and-excitation, hard swish, stride
    ROWS = [
        (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
        (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1),
        (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2),
        (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
    ]  # fmt: skip

    def __init__(self):
        super().__init__()
        layers, inputs = [convolution(3, 16, 3, 2, activation=nn.Hardswish)], 16
        for kernel, inner, outputs, excites, hard, stride in self.ROWS:
            excitation = Excitation(inner, max(8, inner // 32 * 8), nn.ReLU, nn.Hardsigmoid) if excites else None
            activation = nn.Hardswish if hard else nn.ReLU
            layers.append(InvertedResidual(inputs, inner, outputs, kernel, stride, activation, excitation))
            inputs = outputs
        self.features = nn.Sequential(*layers, convolution(96, 576, activation=nn.Hardswish))
        self.head = nn.Sequential(nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, CLASSES))

    def forward(self, x):
        return self.head(pooled(self.features(x)))


class EfficientNetB0(nn.Module):
    # expansion, outputs, blocks, stride, kernel
    ROWS = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
            (6, 320, 1, 1, 3)]  # fmt: skip

    def __init__(self):
        super().__init__()
        layers, inputs = [convolution(3, 32, 3, 2, activation=nn.SiLU)], 32
        rows = [(e, o, s if b == 0 else 1, k) for e, o, blocks, s, k in self.ROWS for b in range(blocks)]
        for number, (expansion, outputs, stride, kernel) in enumerate(rows):
            inner = inputs * expansion
            excitation = Excitation(inner, inputs // 4, nn.SiLU, nn.Sigmoid)
            depth = 0.2 * number / len(rows)
            layers.append(InvertedResidual(inputs, inner, outputs, kernel, stride, nn.SiLU, excitation, depth))
            inputs = outputs
        self.features = nn.Sequential(*layers, convolution(320, 1280, activation=nn.SiLU))
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, CLASSES))

    def forward(self, x):
        return self.head(pooled(self.features(x)))


class ConvNextBlock(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.spatial = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width, 1, 1), 1e-6))
        self.depth = StochasticDepth(depth)

    def forward(self, x):
        y = self.mix(self.norm(self.spatial(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        return x + self.depth(self.scale * y)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextT(nn.Module):
    def __init__(self, widths=(24, 48, 96, 192), blocks=(3, 3, 9, 3)):
        super().__init__()
        layers, number = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], eps=1e-6)], 0
        for stage, (width, count) in enumerate(zip(widths, blocks)):
            if stage:
                layers += [ChannelNorm(widths[stage - 1], eps=1e-6), nn.Conv2d(widths[stage - 1], width, 2, 2)]
            for _ in range(count):
                layers.append(ConvNextBlock(width, 0.1 * number / (sum(blocks) - 1)))
                number += 1
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.LayerNorm(widths[-1], eps=1e-6), nn.Linear(widths[-1], CLASSES))

    def forward(self, x):
        return self.head(pooled(self.features(x)))


class ViT(nn.Module):
    def __init__(self, patch=8, width=64, layers=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (32 // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.1, F.gelu, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        return self.head(self.encoder(x)[:, 0])


class WindowAttention(nn.Module):
    """Attention inside windows; every second block shifts them by half of their side."""

    def __init__(self, width, heads, side, window, shift):
        super().__init__()
        self.heads, self.side, self.window, self.shift = heads, side, window, shift
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.bias = nn.Parameter(0.02 * torch.randn((2 * window - 1) ** 2, heads))
        place = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = place[:, :, None] - place[:, None, :] + window - 1
        self.register_buffer("apart", apart[0] * (2 * window - 1) + apart[1])

    def windows(self, x):
        n = self.side // self.window
        x = x.view(x.shape[0], n, self.window, n, self.window, x.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window**2, x.shape[-1])

    def whole(self, x, batch):
        n = self.side // self.window
        x = x.view(batch, n, n, self.window, self.window, x.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).reshape(batch, self.side, self.side, x.shape[-1])

    def mask(self):
        """Masks pairs of positions that only the shift has brought into one window."""
        region = torch.zeros(1, self.side, self.side, 1)
        cuts = [slice(0, -self.window), slice(-self.window, -self.shift), slice(-self.shift, None)]
        for i, rows in enumerate(cuts):
            for j, columns in enumerate(cuts):
                region[:, rows, columns] = 3 * i + j
        region = self.windows(region).squeeze(-1)
        return (region[:, :, None] != region[:, None, :]).float() * -100

    def forward(self, x):
        batch, width = x.shape[0], x.shape[-1]
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = self.windows(x)
        q, k, v = self.qkv(x).view(x.shape[0], -1, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        scores = scores + self.bias[self.apart].permute(2, 0, 1)
        if self.shift:
            mask = self.mask()
            scores = scores.view(batch, -1, *scores.shape[1:]) + mask[None, :, None]
            scores = scores.flatten(0, 1)
        x = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        x = self.whole(x, batch)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


class SwinBlock(nn.Module):
    def __init__(self, width, heads, side, shifts, depth):
        super().__init__()
        window = min(side, 4)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = WindowAttention(width, heads, side, window, window // 2 if shifts and side > window else 0)
        self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.depth = StochasticDepth(depth)

    def forward(self, x):
        x = x + self.depth(self.attention(self.norm1(x)))
        return x + self.depth(self.mix(self.norm2(x)))


class PatchMerging(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(4 * width)
        self.reduce = nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        parts = [x[:, i::2, j::2] for j in range(2) for i in range(2)]
        return self.reduce(self.norm(torch.cat(parts, -1)))


class SwinT(nn.Module):
    def __init__(self, width=24, blocks=(2, 2, 6, 2), heads=(3, 6, 12, 24)):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        layers, number, side = [], 0, 8
        for stage, (count, of_stage) in enumerate(zip(blocks, heads)):
            if stage:
                layers.append(PatchMerging(width))
                width, side = 2 * width, side // 2
            for block in range(count):
                layers.append(SwinBlock(width, of_stage, side, block % 2 == 1, 0.2 * number / (sum(blocks) - 1)))
                number += 1
        self.layers = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, CLASSES))

    def forward(self, x):
        x = self.layers(self.norm(self.patches(x).permute(0, 2, 3, 1)))
        return self.head(x.mean((1, 2)))
