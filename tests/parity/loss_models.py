"""Models and losses as their authors write them: a loss that is no function of one output and one target."""

import torch
from torch import nn


class Vae(nn.Module):
    """A variational autoencoder: the inputs are the targets. It draws noise only in training."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 20))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        recon = ((self.decoder(mean + noise * (0.5 * logvar).exp()) - x) ** 2).sum(1).mean()
        kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
        return {"loss": recon + 0.1 * kl, "recon": recon, "kl": kl}

    def reconstruct(self, x):
        return self.decoder(self.encoder(x).chunk(2, dim=1)[0])


class Judge(nn.Module):
    """A classifier that computes its loss, with a penalty, as the models of Hugging Face."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(20, 16)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, 4)

    def forward(self, x, labels):
        hidden = torch.tanh(self.inner(x))
        logits = self.head(self.dropout(hidden))
        penalty = hidden.pow(2).mean()
        loss = nn.functional.cross_entropy(logits, labels) + 0.01 * penalty
        return {"loss": loss, "logits": logits, "penalty": penalty}


class Tuple(nn.Module):
    """Returns (loss, output)."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(20, 1)

    def forward(self, x, amount):
        output = self.layer(x).squeeze(1)
        return nn.functional.mse_loss(output, amount), output


class Heads(nn.Module):
    """Two heads, each with a target."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.kind = nn.Linear(16, 4)
        self.amount = nn.Linear(16, 1)

    def forward(self, x):
        hidden = self.inner(x)
        return {"logits": self.kind(hidden), "amount": self.amount(hidden).squeeze(1)}


class HeadsLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.tensor([1.0, 2.0, 1.0, 0.5]))

    def forward(self, logits, amount, kinds, amounts):
        ce = nn.functional.cross_entropy(logits, kinds, weight=self.weight)
        huber = nn.functional.smooth_l1_loss(amount, amounts)
        return {"loss": ce + 0.5 * huber, "ce": ce, "huber": huber}


class Towers(nn.Module):
    """Two encoders whose outputs for one sample should be close (InfoNCE)."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(20, 8)
        self.right = nn.Linear(12, 8)

    def forward(self, x, y):
        return nn.functional.normalize(self.left(x), dim=1), nn.functional.normalize(self.right(y), dim=1)


def info_nce(left, right):
    scores = left @ right.T / 0.1
    own = torch.arange(scores.shape[0], device=scores.device)
    return (nn.functional.cross_entropy(scores, own) + nn.functional.cross_entropy(scores.T, own)) / 2


class Aided(nn.Module):
    """Two outputs in training and one in evaluation, as GoogLeNet's."""

    def __init__(self):
        super().__init__()
        self.inner, self.head, self.aid = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x):
        hidden = torch.tanh(self.inner(x))
        return (self.head(hidden), self.aid(hidden)) if self.training else (self.head(hidden),)


def aided(*outputs_and_kinds):
    *outputs, kinds = outputs_and_kinds
    return sum(nn.functional.cross_entropy(one, kinds) for one in outputs)


class Masked(nn.Module):
    """Rebuilds numbers that it hides at random, in evaluation too."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 20))

    def forward(self, x):
        hidden = torch.rand_like(x) < 0.3
        output = self.layers(x.masked_fill(hidden, 0))
        return {"loss": ((output - x) ** 2).mean(), "rebuilt": output}


# The arguments of export_model.py for each model, and the loss that computes from its outputs and targets.
EXPORTS = {
    "Vae": ["--input", "20", "--loss-from-model", "--predict", "reconstruct"],
    "Judge": ["--input", "20", "--loss-from-model", "--target", "scalar:int64:4"],
    "Tuple": ["--input", "20", "--loss-from-model", "--target", "scalar"],
    "Heads": ["--input", "20", "--loss", "HeadsLoss", "--target", "scalar:int64:4", "--target", "scalar"],
    "Towers": ["--input", "20", "--input", "12", "--loss", "info_nce"],
    "Aided": ["--input", "20", "--loss", "aided", "--target", "scalar:int64:4"],
    "Masked": ["--input", "20", "--loss-from-model"],
}
LOSSES = {"Heads": HeadsLoss, "Towers": lambda: info_nce, "Aided": lambda: aided}
