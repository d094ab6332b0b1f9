"""One rank of a DDP script in PyTorch's Python, as its tutorials write it; its numbers are what ddp-exp owes.

It reads the same keys as an experiment file, and knows nothing else of ddp-exp.
"""

import contextlib
import itertools
import json
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

import safetensors.torch
from components import DATASETS, LOSSES, MODELS, RandomBatch, learning_rate, make_optimizer, named
from data_parallel import DataParallel


def train(experiment, rank, world, folder):
    """Trains and leaves rank-<r>.json (each step's loss) and, on rank 0, model.safetensors in `folder`.

    Ends the process instead of returning: the destructor of DDP's Reducer joins Gloo's threads while it holds the
    interpreter's lock, which now and then one of them waits for.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(experiment.get("flush_denormal", False))
    store = dist.FileStore(os.path.join(folder, "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    trainer = Trainer(experiment, rank, world)
    trainer.run()
    if rank == 0:
        safetensors.torch.save_file(trainer.module.state_dict(), os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, f"rank-{rank}.json"), "w") as file:
        json.dump(trainer.answer(), file)
    dist.barrier()  # no rank leaves while another still reads from it
    os._exit(0)


def split(dataset, validation):
    """(training samples in the dataset's order, held-out samples)"""
    if not validation.get("split"):
        return dataset, None
    generator = torch.Generator()
    generator.manual_seed(validation.get("seed", 0))
    order = torch.randperm(len(dataset), generator=generator).tolist()
    held_out = math.floor(validation["split"] * len(dataset))
    return Subset(dataset, sorted(order[held_out:])), Subset(dataset, order[:held_out])


class Trainer:
    def __init__(self, experiment, rank, world):
        self.experiment, self.rank, self.world = experiment, rank, world
        self.batch_size = experiment.get("batch_size", 32)
        self.accumulate = experiment.get("accumulate", 1)
        self.steps = []  # [epoch, loss summed over this rank's samples, samples, lr] of each step
        self.epochs = 0  # whole ones
        self.evaluations = []  # [epoch, summed loss, correct (None without classes), samples] of this rank

        torch.manual_seed(experiment.get("seed", 42))
        self.train_set, self.validation_set = self.load_data(experiment)
        self.module = named(MODELS, experiment["model"])
        self.model = self.module
        if experiment.get("parallel") == "data_parallel":
            self.model = DataParallel(self.module, experiment.get("devices_per_rank", 1))
        elif experiment.get("parallel", "ddp") == "ddp":
            options = dict(experiment.get("distributed", {}))
            options.pop("backend", None)
            self.model = DistributedDataParallel(self.module, **options)
        self.loss = LOSSES[experiment["loss"]]
        self.optimizer = make_optimizer(experiment.get("optimizer", {}), self.model.parameters())
        self.lr = self.optimizer.param_groups[0]["lr"]

    def load_data(self, experiment):
        dataset = named(DATASETS, experiment["dataset"])
        if isinstance(dataset, RandomBatch):
            self.total = experiment["steps"]
            return dataset, None
        train_set, validation_set = split(dataset, experiment.get("validation", {}))
        options = {"shuffle": True, "drop_last": False, "sampler_seed": 0} | experiment.get("loader", {})
        self.sampler = DistributedSampler(
            train_set, num_replicas=self.world, rank=self.rank, shuffle=options["shuffle"],
            seed=options["sampler_seed"], drop_last=options["drop_last"])  # fmt: skip
        self.loader = DataLoader(train_set, batch_size=self.batch_size, sampler=self.sampler)
        per_epoch = math.ceil(len(self.loader) / self.accumulate)
        self.total = experiment["steps"] if "steps" in experiment else experiment.get("epochs", 1) * per_epoch
        return train_set, validation_set

    def run(self):
        every = self.experiment.get("validation", {}).get("every", 1)
        while len(self.steps) < self.total and self.run_epoch(self.epochs):
            self.epochs += 1
            if self.validation_set and self.epochs % every == 0:
                self.evaluate(self.epochs - 1)

    def answer(self):
        return {"steps": self.steps, "whole_epochs": self.epochs, "evaluations": self.evaluations}

    def batches(self, epoch):
        """(how many batches this epoch has, an iterator over them)"""
        if isinstance(self.train_set, RandomBatch):
            return math.inf, (self.train_set.draw(self.batch_size) for _ in itertools.count())
        self.sampler.set_epoch(epoch)
        return len(self.loader), iter(self.loader)

    def run_epoch(self, epoch):
        """False where `steps` ended it before its last batch."""
        left, batches = self.batches(epoch)
        while left > 0 and len(self.steps) < self.total:
            micro_batches = min(self.accumulate, left)
            self.run_step(epoch, micro_batches, batches)
            left -= micro_batches
        return left == 0

    def run_step(self, epoch, micro_batches, batches):
        lr = learning_rate(self.experiment.get("scheduler", {}), self.lr, len(self.steps), self.total)
        for param_group in self.optimizer.param_groups:
            param_group["lr"] = lr
        self.optimizer.zero_grad()
        summed, samples = 0.0, 0
        for number in range(micro_batches):
            x, y = next(batches)
            local = number < micro_batches - 1 and isinstance(self.model, DistributedDataParallel)
            with self.model.no_sync() if local else contextlib.nullcontext():
                loss = self.loss(self.model(x), y)
                (loss / micro_batches).backward()
            summed += loss.item() * len(x)
            samples += len(x)
        self.optimizer.step()
        self.steps.append([epoch, summed, samples, lr])

    @torch.no_grad()
    def evaluate(self, epoch):
        """The bare module on this rank's batches of the held-out samples: batch b belongs to rank b mod world."""
        if self.experiment.get("distributed", {}).get("broadcast_buffers", True):
            for buffer in self.module.buffers():
                dist.broadcast(buffer, src=0)
        self.module.eval()
        # A generator of its own: evaluation must not move the one that training draws from.
        loader = DataLoader(self.validation_set, batch_size=self.batch_size, generator=torch.Generator())
        classes = not torch.as_tensor(self.validation_set[0][1]).is_floating_point()
        batches = []
        for index, (x, y) in enumerate(loader):
            if index % self.world != self.rank:
                continue
            output = self.module(x)
            correct = (output.argmax(dim=1) == y).sum().item() if classes else None
            batches.append([index, self.loss(output, y).item() * len(x), correct, len(x)])
        self.evaluations.append([epoch, batches])
        self.module.train()
