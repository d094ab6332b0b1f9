"""The training of an experiment file, written as a PyTorch user writes it: losses, optimizers, groups of parameters,
the learning rate, the first weights."""

import fnmatch
import math
import re

import safetensors.torch
import torch
import device
import exported_models
from components import named
from torch import nn


def cross_entropy(output, target, **options):
    """Cross-entropy; for a text as in nanoGPT, over every position of every sample."""
    if output.dim() == 3:
        output, target = output.view(-1, output.size(-1)), target.view(-1)
    return nn.functional.cross_entropy(output, target, **options)


def weighted_cross_entropy(output, target, **options):
    if "weight" in options:
        options["weight"] = torch.tensor(options["weight"], device=output.device)
    return cross_entropy(output, target, **options)


def bce_with_logits(output, target, pos_weight=None, **options):
    if pos_weight is not None:
        pos_weight = torch.tensor(pos_weight, device=output.device)
    return nn.functional.binary_cross_entropy_with_logits(output, target, pos_weight=pos_weight, **options)


def nll(output, target):
    if output.dim() == 3:
        output, target = output.view(-1, output.size(-1)), target.view(-1)
    return nn.functional.nll_loss(output, target)


LOSSES = {
    "mse": nn.functional.mse_loss,
    "l1": nn.functional.l1_loss,
    "smooth_l1": nn.functional.smooth_l1_loss,
    "huber": nn.functional.huber_loss,
    "cross_entropy": weighted_cross_entropy,
    "bce_with_logits": bce_with_logits,
    "nll": nll,
}


class Loss:
    """The loss of an experiment file: a name, or a table with its options."""

    def __init__(self, section, weighted=False):
        self.options = {"name": section} if isinstance(section, str) else dict(section)
        name = self.options.pop("name")
        self.of_model = name == "model"
        self.exported = exported_models.load_loss(self.options.pop("path")) if name == "exported" else None
        self.function = LOSSES.get(name)
        self.of_labels = self.function is bce_with_logits
        self.ignored = self.options.get("ignore_index", -100)
        self.weighted = weighted  # targets are pairs: the target, and the weight of its sample
        self.divides = weighted or "ignore_index" in self.options  # divides by the counted targets of the whole step

    def of_graph(self, outputs, targets):
        """The loss that Python computes; None: it is a named one."""
        if self.of_model:
            return outputs["loss"] if isinstance(outputs, dict) else outputs[0]
        if self.exported is None:
            return None
        loss = self.exported(*(outputs.values() if isinstance(outputs, dict) else outputs), *targets)
        return loss["loss"] if isinstance(loss, dict) else loss

    def __call__(self, output, target, **more):
        if self.weighted:
            target, weights = target
            return (self.each(output, target) * weights).sum()
        return self.function(output, target, **self.options, **more)

    def each(self, output, target):
        """The loss of each sample: summed over its numbers."""
        each = self.function(output, target, **self.options, reduction="none")
        return each.reshape(len(target), -1).sum(1)

    def counted(self, target):
        """The sum of the weights of a batch's targets."""
        if self.weighted:
            target, weights = target
            if self.function is weighted_cross_entropy:
                of_class = torch.tensor(self.options.get("weight", [1.0] * 100), device=target.device)[target] * (target != self.ignored)
            else:
                of_class = torch.ones_like(target)
            return (of_class.double().reshape(len(target), -1).sum(1) * weights.double()).sum().item()
        if self.function is not weighted_cross_entropy and self.function is not nll or target.is_floating_point():
            return float(target.numel())
        counted = target[target != self.ignored]
        if "weight" in self.options:
            return torch.tensor(self.options["weight"], device=target.device)[counted].sum(dtype=torch.float64).item()
        return float(counted.numel())

    def measure(self, output, target):
        """(loss summed over a batch, its divisor)"""
        counted = self.counted(target)
        if self.divides:
            return self(output, target, reduction="sum").item(), counted
        weight = len(target) * (counted / target.numel())
        return self(output, target).item() * weight, weight


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen and others 2023, "Symbolic Discovery of Optimization Algorithms"."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, **_):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                average, (beta1, beta2) = state["exp_avg"], group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = average.mul(beta1).add_(p.grad, alpha=1 - beta1)
                p.add_(torch.sign(update), alpha=-group["lr"])
                average.mul_(beta2).add_(p.grad, alpha=1 - beta2)


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of You and others 2020, "Large Batch Optimization for Deep Learning"."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, **_):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["step"] += 1
                beta1, beta2 = group["betas"]
                state["m"].lerp_(p.grad, 1 - beta1)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                root = (state["v"] / (1 - beta2 ** state["step"])).sqrt() + group["eps"]
                update = state["m"] / (1 - beta1 ** state["step"]) / root
                if group["weight_decay"]:
                    update.add_(p, alpha=group["weight_decay"])
                of_weights, of_update = p.norm().item(), update.norm().item()
                trust = of_weights / of_update if of_weights > 0 and of_update > 0 else 1
                p.add_(update, alpha=-group["lr"] * trust)


class Lars(torch.optim.Optimizer):
    """Algorithm 1 of You, Gitman and Ginsburg 2017, "Large Batch Training of Convolutional Networks"."""

    def __init__(self, params, lr=1e-2, momentum=0.9, weight_decay=0.0, trust_coefficient=1e-3, eps=1e-8, **_):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay,
                                  "trust_coefficient": trust_coefficient, "eps": eps})  # fmt: skip

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["velocity"] = torch.zeros_like(p)
                decay, of_weights, of_gradient = group["weight_decay"], p.norm().item(), p.grad.norm().item()
                trust = 1
                if of_weights > 0 and of_gradient > 0:
                    trust = group["trust_coefficient"] * of_weights / (of_gradient + decay * of_weights + group["eps"])
                velocity = state["velocity"].mul_(group["momentum"])
                velocity.add_(p.grad.add(p, alpha=decay), alpha=group["lr"] * trust)
                p.sub_(velocity)


class MatricesWithMuon(torch.optim.Optimizer):
    """Muon for the first group, and AdamW for the others; each lr follows the schedule of AdamW's."""

    def __init__(self, params, lr=1e-3, fused=True, foreach=None):
        matrices, *others = params
        self.muon = torch.optim.Muon(matrices["params"], **{k: v for k, v in matrices.items() if k not in ("params", "optimizer")})
        self.adamw = torch.optim.AdamW(others, lr=lr, fused=fused, foreach=foreach)
        super().__init__(others, {"lr": lr})
        self.own = self.muon.param_groups[0]["lr"], lr

    def step(self):
        for mine, theirs in zip(self.param_groups, self.adamw.param_groups):
            theirs["lr"] = mine["lr"]
        own, top = self.own
        self.muon.param_groups[0]["lr"] = own * (self.param_groups[0]["lr"] / top)
        self.muon.step()
        self.adamw.step()

    def zero_grad(self, set_to_none=True):
        self.muon.zero_grad(set_to_none)
        self.adamw.zero_grad(set_to_none)


OPTIMIZERS = {
    "lamb": Lamb,
    "lars": Lars,
    "muon": torch.optim.Muon,
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "adafactor": torch.optim.Adafactor,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "lion": Lion,
}


def make_optimizer(section, parameters):
    options = {"name": "sgd", "fused": True} | section
    for key in ("layer_decay", "layers"):
        options.pop(key, None)
    if options["name"] in ("sgd", "adam", "adamw"):
        options.setdefault("lr", 1e-3)
    if options["name"] == "adafactor":
        options["eps"] = tuple(options.get("eps", (None, 1e-3)))
    if "betas" in options:
        options["betas"] = tuple(options["betas"])
    # Torch's fused Adagrad is for the CPU alone; ddp-exp runs the loop on a GPU.
    without_kernel = options["name"] in ("rmsprop", "adafactor", "nadam", "radam", "muon", *["adagrad"] * device.ON_GPUS)
    if isinstance(parameters, list) and parameters[0].get("optimizer") == "muon":
        assert options["name"] == "adamw"
        return MatricesWithMuon(parameters, lr=options["lr"])
    if options["name"] == "muon":
        options = {key: value for key, value in options.items() if key != "fused"}
        return named(OPTIMIZERS, options, params=parameters)
    if without_kernel:
        options.update(fused=False)
    if not options["fused"]:
        options["foreach"] = False  # the plain loop over parameters
    if without_kernel:
        del options["fused"]
    return named(OPTIMIZERS, options, params=parameters)


def in_groups(groups, named_parameters, scales):
    """torch.optim's param_groups: a parameter belongs to the first group that matches; the last group has the rest.
    Parameters with other `scales` of lr are in groups of their own."""
    tables, divided = [*groups, {}], {}
    for name, parameter in named_parameters:
        patterns = [[g["match"]] if isinstance(g["match"], str) else g["match"] for g in groups]
        takes = [any(group_matches(p, name, parameter) for p in of_group) for of_group in patterns]
        place = takes.index(True) if True in takes else len(groups)
        divided.setdefault((place, scales.get(name, 1)), []).append(parameter)
    lists = [dict(tables[place], params=divided[place, scale]) for place, scale in sorted(divided)]
    for group, (_, scale) in zip(lists, sorted(divided)):
        if scale != 1:
            group["lr_scale"] = group.get("lr_scale", 1) * scale
        group.pop("match", None)
        if "betas" in group:
            group["betas"] = tuple(group["betas"])
    return lists


def layer_scales(options, names):
    """The factor of lr of each name, as timm's param_groups_layer_decay computes it from the layers of its
    group_with_matcher (timm/models/_manipulate.py). There a name without a match is of the last layer, here of the
    first; its ordinal 99999 is a pattern without a number here."""
    if "layers" not in options:
        return {}
    ordinals = {}
    for name in names:
        for i, entry in enumerate(options["layers"]):
            for pattern in entry.split("|"):
                found = re.match(re.escape(pattern).replace(r"\*", r"(\d+)") + r"(\.|$)", name)
                if found:
                    ordinals.setdefault(name, (i, *map(int, found.groups()[:-1])) if "*" in pattern else (i, 99999))
    layers, count = {}, 0
    for place in sorted(set(ordinals.values())):
        count += not (place[-1] == 99999 and (place[0],) in {other[:1] for other in layers})
        layers[place] = count - 1
    return {name: options["layer_decay"] ** (count - 1 - layers.get(ordinals.get(name), 0)) for name in names}


def group_matches(pattern, name, parameter):
    if pattern.startswith("ndim"):
        return eval(pattern, {"ndim": parameter.dim()})
    return fnmatch.fnmatchcase(name, pattern)


def learning_rate(section, lr, step, total):
    """The learning rate of optimizer step `step` (from 0) of `total`."""
    options = {"name": "constant", "warmup_steps": 0} | section
    warmup = options.get("warmup", options["warmup_steps"])
    if step < warmup:
        return lr * (step + 1) / warmup
    p = (step - warmup) / max(1, total - warmup)
    if options["name"] == "step":
        return lr * options.get("gamma", 0.1) ** ((step - warmup) // options["step_size"])
    if options["name"] == "cosine":
        low = options.get("min_lr", 0)
        return low + (lr - low) * (1 + math.cos(math.pi * p)) / 2
    if options["name"] == "linear":
        return lr * (1 + (options.get("end_factor", 0) - 1) * p)
    return lr


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def load_weights(module, path, skip=(), rename=None):
    """Loads the weights of a file into a model that may differ, as usual in PyTorch."""
    weights = safetensors.torch.load_file(path)
    for prefix, replacement in (rename or {}).items():
        weights = {
            replacement + name.removeprefix(prefix) if name.startswith(prefix) else name: tensor
            for name, tensor in weights.items()
        }
    kept = {name: tensor for name, tensor in module.state_dict().items() if matches(name, skip)}
    module.load_state_dict({name: tensor for name, tensor in weights.items() if not matches(name, skip)} | kept)
