"""One rank of a DDP script in PyTorch's Python, in the style of its tutorials. ddp-exp must have the same numbers.

It reads the same keys as an experiment file, and does not depend on ddp-exp otherwise.
"""

import contextlib
import copy
import functools
import itertools
import json
import math
import operator
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Subset, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

import device
import exported_models
import safetensors.torch
import tables
import text
from components import DATASETS, MODELS, RandomBatch, named
from data_parallel import DataParallel
from recipe import Loss, in_groups, layer_scales, learning_rate, load_weights, make_optimizer, matches


def train(experiment, rank, world, folder):
    """Trains and leaves rank-<r>.json (each step's loss) and, on rank 0, model.safetensors in `folder`.

    Ends the process instead of returning: the destructor of DDP's Reducer joins Gloo's threads while it holds the
    interpreter's lock, and sometimes one of them waits for that lock.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(experiment.get("flush_denormal", False))
    store = dist.FileStore(os.path.join(folder, "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    trainer = Trainer(experiment, rank, world)
    trainer.run()
    if rank == 0:
        save(trainer.module, os.path.join(folder, "model.safetensors"))
        if trainer.averaged:
            save(trainer.averaged.module, os.path.join(folder, "ema.safetensors"))
    with open(os.path.join(folder, f"rank-{rank}.json"), "w") as file:
        json.dump(trainer.answer(), file)
    dist.barrier()  # no rank exits while another one still reads from it
    os._exit(0)


class Drawn(DistributedSampler):
    """Each rank's share of what WeightedRandomSampler draws."""

    def __init__(self, weights, **options):
        super().__init__(weights, shuffle=False, **options)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        drawn = list(WeightedRandomSampler(self.dataset, len(self.dataset), replacement=True, generator=generator))
        return iter([drawn[i] for i in super().__iter__()])


def sample_weights(train_set, sample):
    if sample == "weighted":
        return [y[1].item() for _, y in train_set]
    classes = torch.tensor([int(y) for _, y in train_set])
    return (1 / torch.bincount(classes)[classes].double()).tolist()


def with_weights(loss, train_set):
    """A loss whose "balanced" weights are numbers."""
    if not isinstance(loss, dict) or loss.get("weight") != "balanced":
        return loss
    counts = torch.bincount(torch.tensor([int(y) for _, y in train_set])).double()
    return loss | {"weight": (len(train_set) / (len(counts) * counts)).tolist()}


def save(module, path):
    """Saves all tensors, tied ones too, each contiguous."""
    tensors = {
        name: tensor.cpu().clone(memory_format=torch.contiguous_format) for name, tensor in module.state_dict().items()
    }
    safetensors.torch.save_file(tensors, path)


def split(dataset, validation):
    """(training samples in the dataset's order, held-out samples)"""
    if not validation.get("split"):
        return dataset, None
    generator = torch.Generator()
    generator.manual_seed(validation.get("seed", 0))
    order = torch.randperm(len(dataset), generator=generator).tolist()
    held_out = math.floor(validation["split"] * len(dataset))
    return Subset(dataset, sorted(order[held_out:])), Subset(dataset, order[:held_out])


def answer_of(model, x):
    """The output for the loss. DataLoader makes a list of several inputs; a model may return a dict."""
    output = call(model, x)
    return output["logits"] if isinstance(output, dict) else output


def call(model, x, further=()):
    return model(*(x if isinstance(x, list) else [x]), *further)


def listed(y):
    return y if isinstance(y, list) else [y]


class Trainer:
    def __init__(self, experiment, rank, world):
        self.experiment, self.rank, self.world = experiment, rank, world
        self.batch_size = experiment.get("batch_size", 32)
        self.accumulate = experiment.get("accumulate", 1)
        self.steps = []  # [epoch, loss summed over this rank's samples, samples, lr] of each step
        self.epochs = 0  # complete ones
        self.evaluations = []  # [epoch, batches] of this rank; see measure()
        self.tested = None  # batches of this rank
        self.best = None  # (val_loss, weights)

        self.device = device.enter(rank, experiment.get("devices_per_rank", 1))
        torch.manual_seed(experiment.get("seed", 42))
        self.train_set, self.validation_set, self.test_set = self.load_data(experiment)
        self.module = named(MODELS, experiment["model"])
        if "init_from" in experiment:
            load_weights(self.module, **experiment["init_from"])
        for name, parameter in self.module.named_parameters():
            if matches(name, experiment.get("freeze", [])):
                parameter.requires_grad_(False)
        self.module.to(self.device)
        self.set_numerics(experiment)
        self.model = self.module
        if experiment.get("parallel") == "data_parallel":
            self.model = DataParallel(self.module, experiment.get("devices_per_rank", 1))
        elif experiment.get("parallel", "ddp") == "ddp":
            options = dict(experiment.get("distributed", {}))
            options.pop("backend", None)
            self.model = DistributedDataParallel(self.module, **options)
        drawn = experiment.get("loader", {}).get("sample") == "weighted"
        self.loss = Loss(with_weights(experiment["loss"], self.train_set), weighted="weights" in experiment["dataset"] and not drawn)
        trained = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        optimizer = experiment.get("optimizer", {})
        scales = layer_scales(optimizer, [name for name, _ in self.module.named_parameters()])
        self.optimizer = make_optimizer(optimizer, in_groups(experiment.get("groups", []), trained, scales))
        self.lr = self.optimizer.defaults["lr"]

    def set_numerics(self, experiment):
        precision = experiment.get("precision", "fp32")
        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
        self.casts = lambda: torch.autocast(device.KIND, dtype=dtype) if precision != "fp32" else contextlib.nullcontext()
        self.scaler = torch.amp.GradScaler(device.KIND, enabled=precision == "fp16")
        if experiment.get("channels_last"):
            self.module.to(memory_format=torch.channels_last)
        self.averaged = None
        if "ema" in experiment:
            average = get_ema_multi_avg_fn(experiment["ema"].get("decay", 0.999))
            self.averaged = AveragedModel(self.module, multi_avg_fn=average, use_buffers=False)
        self.evaluated = self.averaged.module if self.averaged else self.module
        self.norms = []  # before clipping, of each step
        self.skipped = []

    def answer_of(self, model, x):
        if self.experiment.get("channels_last"):
            x = x.to(memory_format=torch.channels_last)
        return answer_of(model, x)

    def update(self):
        """Unscales, clips and steps; returns whether the scaler skipped the step, which its scale shows."""
        self.scaler.unscale_(self.optimizer)
        clip = self.experiment.get("clip", {})
        if "norm" in clip:
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip["norm"]).item()
            self.norms.append(norm if math.isfinite(norm) else None)
        if "value" in clip:
            torch.nn.utils.clip_grad_value_(self.model.parameters(), clip["value"])
        self.scaler.step(self.optimizer)
        scale = self.scaler.get_scale()
        self.scaler.update()
        self.skipped.append(self.scaler.get_scale() < scale)
        if self.averaged and (len(self.steps) + 1) % self.experiment["ema"].get("every", 1) == 0:
            self.averaged.update_parameters(self.module)

    def load_data(self, experiment):
        validation = experiment.get("validation", {})
        if experiment["dataset"]["name"] in ("csv", "parquet", "jsonl"):
            train_set, validation_set, test_set = tables.load(experiment)
            return self.load_samples(experiment, train_set), validation_set, test_set
        if experiment["dataset"]["name"] in ("text", "tokens"):
            train_set, validation_set = text.load(experiment["dataset"], validation, experiment.get("seed", 42))
            if isinstance(train_set, text.Offsets):
                self.total = experiment["steps"]
                return train_set, validation_set, None
            return self.load_samples(experiment, train_set), validation_set, None
        dataset = named(DATASETS, experiment["dataset"])
        if isinstance(dataset, RandomBatch):
            self.total = experiment["steps"]
            return dataset, None, None
        train_set, validation_set = split(dataset, validation)
        if experiment.get("loader", {}).get("sample") == "weighted":
            validation_set = [(x, y[0]) for x, y in validation_set]
        return self.load_samples(experiment, train_set), validation_set, None

    def load_samples(self, experiment, train_set):
        options = {"shuffle": True, "drop_last": False, "drop_last_batch": False, "sampler_seed": 0} | experiment.get("loader", {})
        shares = {"num_replicas": self.world, "rank": self.rank, "seed": options["sampler_seed"], "drop_last": options["drop_last"]}
        if options.get("sample", "all") == "all":
            self.sampler = DistributedSampler(train_set, shuffle=options["shuffle"], **shares)
        else:
            self.sampler = Drawn(sample_weights(train_set, options["sample"]), **shares)
        if options.get("sample") == "weighted":
            train_set = [(x, y[0]) for x, y in train_set]
        self.loader = DataLoader(
            train_set, batch_size=self.batch_size, sampler=self.sampler, drop_last=options["drop_last_batch"])  # fmt: skip
        per_epoch = math.ceil(len(self.loader) / self.accumulate)
        self.total = experiment["steps"] if "steps" in experiment else experiment.get("epochs", 1) * per_epoch
        return train_set

    def run(self):
        every = self.experiment.get("validation", {}).get("every", 1)
        while len(self.steps) < self.total and self.run_epoch(self.epochs):
            self.epochs += 1
            if self.validation_set and self.epochs % every == 0:
                self.evaluate(self.epochs - 1)
        if self.validation_set and isinstance(self.train_set, text.Offsets):
            self.evaluate(0)  # random offsets have no epochs: once, at the end
        if self.test_set:
            last = copy.deepcopy(self.evaluated.state_dict())
            if self.best:
                self.evaluated.load_state_dict(self.best[1])
            self.tested = self.measure(self.test_set)
            self.evaluated.load_state_dict(last)

    def answer(self):
        return {
            "steps": self.steps, "whole_epochs": self.epochs, "evaluations": self.evaluations, "tested": self.tested,
            "norms": self.norms, "skipped": self.skipped,
        }  # fmt: skip

    def batches(self, epoch):
        """(the number of batches in this epoch, an iterator over them)"""
        if isinstance(self.train_set, RandomBatch):
            return math.inf, (self.train_set.draw(self.batch_size) for _ in itertools.count())
        if isinstance(self.train_set, text.Offsets):
            places = ((step, i) for step in itertools.count() for i in range(self.accumulate))
            return math.inf, (self.train_set.draw(self.batch_size, *place, self.rank) for place in places)
        self.sampler.set_epoch(epoch)
        return len(self.loader), iter(self.loader)

    def run_epoch(self, epoch):
        """Returns False if `steps` ended the epoch before its last batch."""
        left, batches = self.batches(epoch)
        while left > 0 and len(self.steps) < self.total:
            micro_batches = min(self.accumulate, left)
            self.run_step(epoch, micro_batches, batches)
            left -= micro_batches
        return left == 0

    def run_step(self, epoch, micro_batches, batches):
        lr = learning_rate(self.experiment.get("scheduler", {}), self.lr, len(self.steps), self.total)
        for param_group in self.optimizer.param_groups:
            param_group["lr"] = lr * param_group.get("lr_scale", 1)
        self.optimizer.zero_grad()
        summed, weight, samples = 0.0, 0.0, 0
        loaded = [next(batches) for _ in range(micro_batches)] if self.loss.divides else None
        if loaded:
            weight = sum(self.loss.counted(y) for _, y in loaded)
            counts = [None] * self.world
            dist.all_gather_object(counts, weight)
            all_count = functools.reduce(operator.add, counts)
        for number in range(micro_batches):
            x, y = (device.moved(part, self.device) for part in (loaded[number] if loaded else next(batches)))
            local = number < micro_batches - 1 and isinstance(self.model, DistributedDataParallel)
            with self.model.no_sync() if local else contextlib.nullcontext():
                with self.casts():
                    if self.loss.function is None:
                        outputs = call(self.model, x, listed(y) if self.loss.of_model else [])
                        loss = self.loss.of_graph(outputs, listed(y))
                    else:
                        output = self.answer_of(self.model, x)
                        loss = self.loss(output, y, reduction="sum") if loaded else self.loss(output, y)
                if loaded:
                    share = loss * self.world / all_count if all_count else loss * 0
                    summed += loss.item()
                else:
                    share = loss / micro_batches
                    summed += loss.item() * len(listed(x)[0])
                    weight += len(listed(x)[0])
                self.scaler.scale(share).backward()
            samples += len(listed(x)[0])
        self.update()
        self.steps.append([epoch, summed, samples, lr, weight])

    def evaluate(self, epoch):
        batches = self.measure(self.validation_set)
        self.evaluations.append([epoch, batches])
        if not self.test_set:
            return
        everyone = [None] * self.world
        dist.all_gather_object(everyone, batches)
        losses = [batch[1] for batch in sorted(batch for rank in everyone for batch in rank)]
        loss = functools.reduce(operator.add, losses) / sum(batch[4] for rank in everyone for batch in rank)
        if self.best is None or loss < self.best[0]:
            self.best = loss, copy.deepcopy(self.evaluated.state_dict())

    def right(self, output, y):
        """(right targets, counted targets); (None, None) if the targets are neither classes nor labels"""
        if not y.is_floating_point():
            counted = y != self.loss.ignored
            return ((output.argmax(dim=output.dim() - 1) == y) & counted).sum().item(), counted.sum().item()
        if self.loss.of_labels:
            return ((output > 0) == (y > 0.5)).sum().item(), y.numel()
        return None, None

    def right_of_logits(self, outputs, targets):
        if not isinstance(outputs, dict) or "logits" not in outputs or len(targets) != 1:
            return None, None
        logits, target = outputs["logits"], targets[0]
        if self.loss.of_model and type(self.module).__name__ in exported_models.CAUSAL:
            logits, target = logits[:, :-1], target[:, 1:]
        return self.right(logits, target)

    @torch.no_grad()
    def measure(self, held_out):
        """Evaluates the bare module on this rank's batches of the held-out samples: batch b belongs to rank b mod
        world. The buffers are those of rank 0, which are saved; a rank puts its own ones back.

        Returns [batch, summed loss, right targets, targets, what the loss counts] of each; see right()."""
        has_own = not self.experiment.get("distributed", {}).get("broadcast_buffers", True)
        own = [buffer.clone() for buffer in self.evaluated.buffers()] if has_own else []
        for buffer in self.evaluated.buffers() if self.world > 1 else []:
            dist.broadcast(buffer, src=0)
        self.evaluated.eval()
        # A separate generator: evaluation must not change the training's generator.
        loader = DataLoader(held_out, batch_size=self.batch_size, generator=torch.Generator())
        batches = []
        for index, (x, y) in enumerate(loader):
            if index % self.world != self.rank:
                continue
            x, y = device.moved(x, self.device), device.moved(y, self.device)
            # ddp-exp draws the same numbers for each batch of an evaluation.
            with self.casts(), torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
                torch.manual_seed(0)
                if self.loss.function is None:
                    output = call(self.evaluated, x, listed(y) if self.loss.of_model else [])
                    weight = len(listed(x)[0])
                    loss = self.loss.of_graph(output, listed(y)).item() * weight
                else:
                    output = self.answer_of(self.evaluated, x)
                    loss, weight = self.loss.measure(output, y)
            right = self.right(output, listed(y)[0]) if self.loss.function else self.right_of_logits(output, listed(y))
            batches.append([index, loss, *right, weight])
        self.evaluated.train()
        for buffer, kept in zip(self.evaluated.buffers(), own):
            buffer.copy_(kept)
        return batches
