#!/usr/bin/env python3
"""Saves a model written in Python for ddp-exp, which trains it without Python.

    export_model.py my_model.py:Net net.pt2 --input 3x32x32
    export_model.py torchvision.models:resnet18 resnet18.pt2 --input 3x224x224 --args '{"num_classes": 10}'
    export_model.py my_gpt:Gpt gpt.pt2 --input 64:int64:50257

The model is a class or a function that returns a torch.nn.Module. --input gives the shape of one sample, without the
batch; its type (float32 by default); for integers, their number of values. A size that varies is a range, such as
1-64:int64:50257 for texts of up to 64 tokens, which `ddp-exp generate` needs for short prompts. A model with several inputs takes --input
several times, in the order of forward's arguments. The model draws its weights after torch.manual_seed(--seed).

A model of transformers is built from its configuration, with random weights: --config gives what differs from the
default. Its inputs and targets have names; the first input is the model's main one, and a target is called "labels".

    export_model.py transformers:GPT2LMHeadModel gpt2.pt2 --config '{"n_layer": 4}' --input 1-1024:int64:50257
    export_model.py transformers:BertForSequenceClassification bert.pt2 --config bert.json --loss-from-model \\
        --input 128:int64:30522 --input attention_mask=128:int64:2 --target scalar:int64:2

A folder that save_pretrained has written gives a model of transformers its configuration and its weights. timm:NAME is a
model of timm; --pretrained gives it the weights of a file. Without --input and --target, the inputs and the labels of a
model of either library follow from its configuration.

    export_model.py transformers:AutoModelForSequenceClassification my_bert/ bert.pt2 --args '{"num_labels": 3}'
    export_model.py timm:vit_tiny_patch16_224 vit.pt2 --pretrained vit.safetensors --args '{"num_classes": 10}'

A model that computes its loss takes its targets after its inputs. --loss-from-model says so; --target describes each
target as --input describes an input. forward returns the loss, or a dict with "loss"; its other scalars are recorded,
and its "logits" are the answers. --predict names a method of the model, or a class with its weights, that takes the
inputs alone.

A loss of its own is a class or a function too: --loss net.py:Loss. It takes the model's outputs, then the targets.

    export_model.py vae.py:Vae vae.pt2 --input 784 --loss-from-model
    export_model.py towers.py:Towers towers.pt2 --input 32 --input 64 --loss towers.py:InfoNce

The script needs torch 2.11, the packages that the model imports, and export_checks.py, export_init.py, export_public.py,
operators.txt and switches.txt beside it. Then write in the experiment file:

    model = { name = "exported", path = "net.pt2" }

A model such as one with dropout or batch norm behaves differently in training and evaluation. ddp-exp switches both in
the graph of training. If the model differs in other ways, for example by `if self.training`, the script also writes
net.eval.pt2, which the experiment file names with `eval`.
"""

import argparse
import contextlib
import copy
import importlib
import importlib.util
import inspect
import json
import logging
import operator
import os
import pathlib
import sys
import tempfile
import traceback
import unittest.mock
import warnings

try:
    import torch
    from torch.export.pt2_archive._package import package_pt2
except ImportError as missing:
    sys.exit(f"error: the script needs PyTorch for Python: pip install torch==2.11.0 ({missing})")

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # missing under runpy and `python -P`
from export_checks import (Refused, copy_of, disturbed, evaluated, explained, first_difference, line_beside_torch, line_of, loss_in,
                           outputs_by_name, outputs_in, require_same_step, step, tell_of, try_twice)  # fmt: skip
from export_init import initialisation
from export_public import Traced, by_factor, compared, from_folder, inputs_of, make_traceable, of_timm, prepare, rates_of_layer_drop, targets_of

TORCH = "2.11"  # its archives have the format that ddp-exp reads
for module in ("torch.utils.flop_counter", "torch.fx.experimental.symbolic_shapes"):
    logging.getLogger(module).setLevel(logging.ERROR)  # they warn of what is no fault of a model

DRAWS = {"bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "poisson", "rand",
         "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "uniform"}  # fmt: skip
OPERATORS = pathlib.Path(__file__).with_name("operators.txt")  # the same lists as ddp-exp's
SWITCHES = {name: (argument, json.loads(off), *needed) for name, argument, off, *needed in
            map(str.split, OPERATORS.with_name("switches.txt").read_text().splitlines()) if name != "#"}  # fmt: skip


def operation(node):
    """Returns the ATen name of a node's operator, without a trailing "_"; None for other nodes."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    return node.target._schema.name.removeprefix("aten::").rstrip("_")


def names_of_arguments(node):
    return [one.name for one in node.target._schema.arguments]


def arguments_of_node(node):
    """Returns the given arguments of a node's operator by name; {} for other nodes."""
    if operation(node) is None:
        return {}
    return dict(zip(names_of_arguments(node), node.args)) | dict(node.kwargs)


def place(node):
    """Returns the line of the author's Python that created a node."""
    frames = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    named = [i for i, line in enumerate(frames) if line.startswith("File ")]
    # Code that torch generates has no file: "<eval_with_key>.11".
    own = [i for i in named if "/torch/" not in frames[i] and not frames[i].startswith('File "<')] or named
    return "\n  in " + ": ".join(frames[own[-1] : own[-1] + 2]) if own else ""


def allowed_operators():
    """Returns the names of the operators and functions that a graph may call."""
    lines = OPERATORS.read_text().splitlines()
    return {name for line in lines if not line.startswith("#") for name in line.split()}


def name_of_function(node):
    """Returns the name by which the list of operators knows what a node calls; None for nodes that call nothing."""
    if node.op != "call_function" or node.target is operator.getitem:
        return None
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return None
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.name.removeprefix("aten::")
    return f"{node.target.__module__}.{node.target.__name__}"


def writes_to_keyword(node):
    """True for the overloads that write into an argument `out`."""
    written = [one for one in node.target._schema.arguments if one.kwarg_only and one.alias_info is not None]
    return any(one.alias_info.is_write for one in written)


def drops_values(node):
    """True if training mode is on for a call that it makes random."""
    argument, off, *needed = SWITCHES.get(operation(node), (None, None))
    given = arguments_of_node(node)
    if needed or given.get(argument, off) == off:
        return False
    return given.get("p", given.get("dropout", 1.0)) != 0


def graph_modules(program):
    return [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]


def plain(outputs):
    """Returns a dict in place of an output class of a library or a named tuple, without what is no tensor.

    An archive with a class of a library could not be read without the library. If there are tensors only in lists or
    dicts, these are taken: "logits_0", "text_outputs_logits".
    """
    if hasattr(outputs, "_asdict"):  # a named tuple
        outputs = outputs._asdict()
    elif isinstance(outputs, tuple):  # torch's own, such as topk's
        return tuple(outputs)
    elif not isinstance(outputs, dict) or type(outputs) is dict:
        return outputs
    tensors = {name: value for name, value in outputs.items() if isinstance(value, torch.Tensor)}
    parts = {name: value.items() if isinstance(value, dict) else enumerate(value)
             for name, value in outputs.items() if isinstance(value, (dict, list, tuple))}  # fmt: skip
    return tensors or {f"{name}_{i}": one for name, part in parts.items() for i, one in part if isinstance(one, torch.Tensor)}


def wrap_forward(model, names):
    """Makes forward take all its inputs by position, and return plain outputs.

    names: the keywords of forward that the inputs go to; "" for those that forward takes by position.
    """
    original = type(model)

    def forward(self, *inputs):
        named = {name: value for name, value in zip(names, inputs) if name}
        return plain(original.forward(self, *inputs[: len(inputs) - len(named)], **named))

    model.__class__ = type(original.__name__, (original,), {"forward": forward})


def require_loss(outputs, giver, samples):
    """Raises Refused if these are not the outputs of a forward that computes the loss of so many samples; `giver`: whose."""
    named = outputs_by_name(outputs)
    is_list = all(name.isdigit() for name in named)
    if len(named) > 1 and not is_list and "loss" not in named:
        raise Refused(f'{giver} returns a dict without "loss"; it has: {", ".join(named)}')
    loss = loss_in(named)
    if loss.shape not in ((), (samples,)) or not loss.is_floating_point():
        raise Refused(f"{giver} returns a loss of shape {list(loss.shape)} and type {loss.dtype}; "
                      "a loss is one floating-point number, or one for each sample: take the mean or sum")  # fmt: skip
    if loss.dim() > 0 and "loss" not in named and len(named) > 1:
        raise Refused(f'{giver} returns the losses of samples among others: return a dict with "loss"')


def require_trained_parameters(model):
    """Raises Refused if the model has no parameter to train."""
    parameters = list(model.parameters())
    if not parameters:
        raise Refused("the model has no parameters, so there is nothing to train; buffers are not trained")
    if not any(parameter.requires_grad for parameter in parameters):
        raise Refused("the model has requires_grad = False in every parameter, so there is nothing to train; "
                      "call requires_grad_(True) on the parameters to train")  # fmt: skip


def require_plain_batch_norms(model):
    """Raises Refused if the model's batch norms would use the samples of all ranks, or the number of steps."""

    def names_of(kind, applies):
        found = [name for name, part in model.named_modules() if isinstance(part, kind) and applies(part)]
        return ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")

    cumulative = names_of(torch.nn.modules.batchnorm._BatchNorm, lambda one: one.momentum is None and one.track_running_stats)
    if cumulative:
        raise Refused(f"the model has a batch norm with momentum=None: {cumulative}\n  its average depends on the number of "
                      "steps, which no graph has: give a momentum, such as 0.1")  # fmt: skip
    synchronised = names_of(torch.nn.SyncBatchNorm, lambda one: True)
    if synchronised:
        raise Refused(
            f"the model has SyncBatchNorm, which an experiment chooses with sync_batch_norm = true in [model]: {synchronised}\n"
            "  leave out convert_sync_batchnorm, or use BatchNorm1d, BatchNorm2d or BatchNorm3d, which have the same weights"
        )


def require_trainable(program):
    """Raises Refused if the graph contains nodes that ddp-exp cannot train."""
    regions = {"wrap_with_set_grad_enabled", "wrap_with_autocast"}
    allowed = allowed_operators()
    for module in graph_modules(program):
        for node in module.graph.nodes:
            if isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() not in regions:
                raise Refused(f"the model's control flow depends on its data ({node.target.name()}){place(node)}")
            if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace != "aten":
                raise Refused(f"the model calls the custom operator {node.target}{place(node)}")
            name = name_of_function(node)
            if isinstance(node.target, torch._ops.OpOverload) and writes_to_keyword(node):
                has_norm = any(name.endswith((".weight_u", "._u")) for name in program.state_dict)
                cure = "leave out torch's spectral_norm, which does so" if has_norm else "assign the result instead of using out="
                raise Refused(f"the model calls {node.target}, which ddp-exp does not allow in a graph: {cure}{place(node)}")
            if name and not allowed & {name, name.rstrip("_")}:
                raise Refused(f"the model calls {name}, which ddp-exp does not allow in a graph ({OPERATORS.name}); "
                              f"replace it in the model{place(node)}")  # fmt: skip
            if arguments_of_node(node).get("sparse") is True:
                raise Refused(
                    "the gradient of the embedding is sparse, and ddp-exp trains with dense ones: "
                    f"leave out sparse=True{place(node)}"
                )


def batch_is_dynamic(program, shapes):
    """True if the first size of each input that is to vary does vary. shapes: of dynamic_shapes() or shapes_of_loss()."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [values[name] for name in program.graph_signature.user_inputs if isinstance(name, str)]
    return not any(isinstance(tensor.shape[0], int) for tensor, sizes in zip(inputs, shapes[0]) if tensor.dim() > 0 and 0 in sizes)


def without_idle_draws(program):
    """Removes the draws that nobody reads: in evaluation some models of transformers compare a number only in training."""
    for module in graph_modules(program):
        for node in reversed(module.graph.nodes):
            if operation(node) in DRAWS and not node.users and not node.target._schema.is_mutable:
                module.graph.erase_node(node)
        module.recompile()


def look_at_draws(program):
    """Raises Refused if evaluation would drop values. Says that other random numbers are the same for each batch."""
    for module in graph_modules(program):
        for node in module.graph.nodes:
            if drops_values(node):
                raise Refused(f"the model drops values even in evaluation ({operation(node)}); drop only if self.training{place(node)}")
    draws = [node for module in graph_modules(program) for node in module.graph.nodes if operation(node) in DRAWS]
    if draws:
        print(f"note: the model draws random numbers even in evaluation ({operation(draws[0])}); ddp-exp draws the same "
              f"ones for each batch{place(draws[0])}", file=sys.stderr)  # fmt: skip


def try_model(model, arguments, options, samples):
    """Finds mistakes that torch.export finds late, or reports without a line, or not at all. Returns a step of the model."""
    wrong = "the model fails on random inputs; --input and --target give their shapes (without the batch), types and numbers of values"
    tried = try_twice(model, samples, wrong, options.loss_from_model)
    if options.batch < options.max_batch:
        larger = tuple(one.sample(batch=options.batch + 1) for one in arguments)
        with explained("the model works for only one batch size; use x.shape[0] for the size of the batch"):
            evaluated(copy_of(model), larger)
    return tried


def dynamic_shapes(arguments, options):
    """Returns the dimensions of each input that vary: the batch, and each range of --input."""
    shapes = []
    for one in arguments:
        shape = {0: torch.export.Dim("batch", min=options.min_batch, max=options.max_batch)}
        for place, (least, most) in enumerate(one.sizes, start=1):
            if least < most:  # the same range in two inputs is the same size in a sample
                shape[place] = torch.export.Dim(f"from_{least}_to_{most}", min=least, max=most)
        shapes.append(shape)
    return (tuple(shapes),)


def shapes_of_loss(samples, options):
    """Returns the dimensions of each argument of a loss that vary: the batch; with ranges of --input, any other one."""
    batch = torch.export.Dim("batch", min=options.min_batch, max=options.max_batch)
    has_ranges = any(least < most for one in options.input for least, most in one.sizes)
    shapes = []
    for one in samples:
        # An output may compare each sample with each other one: it has the batch twice.
        varies = [place for place in range(1, one.dim()) if has_ranges or one.shape[place] == options.batch]
        shape = dict.fromkeys(varies, torch.export.Dim.AUTO)
        if one.dim() > 0 and one.shape[0] % options.batch == 0:  # or several rows of each sample
            shape[0] = batch if one.shape[0] == options.batch else torch.export.Dim.AUTO
        shapes.append(shape)
    return (tuple(shapes),)


def shapes_of_lstm(samples, hidden, *_, **__):
    """Returns outputs and states with the shapes of an LSTM layer's, (time, batch, features) and twice (batch, features)."""
    return samples.sum(-1, keepdim=True) + hidden[0], hidden


@contextlib.contextmanager
def traceable():
    """Replaces what torch.export cannot trace by something with the same result. Gives Traced.

    For the shapes of an LSTM torch 2.11 unrolls it, which fixes the length, and gives `hn` a dimension too many
    (one_layer_lstm in torch/_decomp/decompositions.py). The graph keeps the operator itself.
    """
    with contextlib.ExitStack() as patches:
        def patch(module, name, value, **options):
            patches.enter_context(unittest.mock.patch.object(module, name, value, **options))

        # What torch.export says though nothing is wrong: try_twice has shown that forward does not read a tensor that it keeps.
        patches.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "The tensor attribute")
        trace = importlib.import_module("torch.export._trace")  # prints the graph so far of a failure, whose line we give
        patch(trace, "print", lambda *_, **__: None, create=True)
        traced = Traced()
        environment = importlib.import_module("torch.fx.experimental.symbolic_shapes").ShapeEnv
        patch(environment, "_log_guard", traced.noting(environment._log_guard))
        patch(environment, "evaluate_expr", compared(traced, environment.evaluate_expr))
        patch(importlib.import_module("torch._decomp.decompositions"), "select_one_layer_lstm_function", lambda *_: shapes_of_lstm)
        for module in ("torch._subclasses.fake_tensor", "torch.fx.experimental.proxy_tensor"):
            patch(importlib.import_module(module), "CONSTANT_NUMEL_LIMIT", 4096)  # such as the sizes of images at several scales
        # Distributions look at the numbers that they are given, and raise an error of wrong ones.
        patch(torch.distributions.Distribution, "_validate_args", False)
        patch(torch.autograd.Function, "apply", by_factor(vars(torch.autograd.Function)["apply"]))
        if "transformers" in sys.modules:
            make_traceable(patch, traced)
        yield traced


# What people meet: a part of torch.export's message, and what to do.
EXPLANATIONS = {
    "Constraints violated (from_": "the model fixes or compares a size that --input gives as a range: "
    "give that size alone, such as 32 for 1-32, or the range of the suggested fix",
    "data-dependent": "an `if` on a tensor's value, or a size that is one, cannot be exported: "
    "compute both sides, and choose with torch.where",
    "torch.cdist(": "torch.cdist takes another way for more than 25 rows: "
    'torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") does not',
    "DynamicCache": "forward returns a cache, which training does not need: call the model with use_cache=False",
}  # fmt: skip


def shortened(error):
    """Returns the text of an error of torch.export; of one with advice for its own developers, the first line."""
    text = str(error).strip()
    return text if "Constraints violated" in text else text.partition("\n")[0]


def export(model, samples, shapes):
    traced, attributes = Traced(), [(one, set(vars(one))) for one in model.modules()]
    try:
        with traceable() as traced:
            program = torch.export.export(model, samples, dynamic_shapes=shapes)
    except Exception as error:  # torch.export raises many types, each with a long text
        where = line_of(traceback.extract_tb(error.__traceback__)) or "".join(dict.fromkeys(traced.lines))
        text = f"torch.export cannot save the model: {type(error).__name__}: {shortened(error)}"
        text += "".join(f"\n  {advice}" for part, advice in EXPLANATIONS.items() if part in f"{error}{where}")
        if rates := rates_of_layer_drop(model):
            text += f"\n  training skips layers at random, which no graph does: set {', '.join(rates)} to 0 in --config"
        raise Refused(text + where) from error
    finally:
        for module, names in attributes:  # torch.export restores those that were there
            for name in vars(module).keys() - names:
                delattr(module, name)
    require_trainable(program)
    if not batch_is_dynamic(program, shapes):
        raise Refused("the model works for only one batch size; use x.shape[0] for the size of the batch")
    program.skips_empty = traced.skips_empty
    return program


def switched(program):
    """Returns the graph of training switched to evaluation, as ddp-exp does it; None: it still draws random numbers."""
    module = program.module()
    counters = {name for name, _ in module.named_buffers() if name.endswith("num_batches_tracked")}
    for part in [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)]:
        for node in list(part.graph.nodes):
            name = operation(node)
            if name in DRAWS:
                return None
            if name == "add" and node.args[0].op == "get_attr" and node.args[0].target in counters:
                node.replace_all_uses_with(node.args[0])  # of the same batch norm, if forward calls it twice
                part.graph.erase_node(node)
            elif name in SWITCHES:
                switch(node, *SWITCHES[name])
        part.recompile()
    return module


def switch(node, argument, value, *needed):
    given = arguments_of_node(node)
    if argument not in given or any(given.get(one) is None for one in needed):
        return
    at = names_of_arguments(node).index(argument)
    if at < len(node.args):
        node.update_arg(at, value)
    else:
        node.update_kwarg(argument, value)


def find(name):
    """Returns the class or function that "module:name" or "file.py:name" names."""
    module_name, _, attribute = name.rpartition(":")
    if not module_name:
        raise Refused(f'"{name}" must be module:Class or file.py:Class')
    if module_name.endswith(".py"):
        file = pathlib.Path(module_name)
        if not file.is_file():
            raise Refused(f"{file} does not exist")
        sys.path.insert(0, str(file.resolve().parent))
        module_name = file.stem
    else:
        sys.path.insert(0, "")
    with explained(f"{module_name} cannot be imported"):
        module = importlib.import_module(module_name)
    if not hasattr(module, attribute):
        raise Refused(f"{module_name} has no {attribute}")
    return getattr(module, attribute)


def build(name, options):
    """Returns the module that "module:name" or "file.py:name" makes from --args, --config, --pretrained or a folder."""
    arguments = json_object("--args", options.args)
    if name.startswith("timm:") and not options.config and not options.folder:
        return of_timm(name.removeprefix("timm:"), options.pretrained, arguments)
    if options.pretrained:
        raise Refused(f"--pretrained is for models of timm, such as timm:resnet18, and {name} is none")
    maker = find(name)
    if options.folder:
        model = from_folder(maker, options.folder, arguments)
        prepare(model)
        return model
    if options.config:
        if not hasattr(maker, "config_class"):
            raise Refused(f"--config is for models of transformers, and {name} is none; --args gives a class its arguments")
        with explained(f"--config {options.config}"):
            arguments["config"] = maker.config_class(**json_object("--config", options.config))
    with explained(f"{name} cannot be called with --args {options.args}"):
        model = maker(**arguments) if callable(maker) and not isinstance(maker, torch.nn.Module) else maker
    if not isinstance(model, torch.nn.Module):
        raise Refused(f"{name} gives a {type(model).__name__}, not a torch.nn.Module")
    prepare(model)
    return model


def names_of(model, options):
    """Returns the keywords of forward that inputs and targets go to; "" for those that go by position."""
    main = getattr(model, "main_input_name", "")  # models of transformers have it
    arguments = options.input + options.target
    names = [one.name or ("labels" if main and one in options.target else "") for one in arguments]
    names[0] = names[0] or main
    for one, name, before in zip(arguments[1:], names[1:], names):
        if before and not name:
            raise Refused(f"{one.option} {one.text}: it needs the name that forward gives it, such as "
                          f"attention_mask={one.text}")  # fmt: skip
    return names


def range_of(size):
    """Returns (32, 32) for "32", and (1, 32) for the range "1-32"."""
    least, is_range, most = size.partition("-")
    if not is_range:
        return int(size), int(size)
    if not 0 < int(least) < int(most):
        raise ValueError
    return int(least), int(most)


class Argument:
    """One argument of forward: [NAME=]SHAPE[:TYPE[:VALUES]], such as 3x32x32, ids=1-64:int64:50257 or scalar:float32."""

    def __init__(self, option, text):
        self.option, self.text = option, text
        self.name, _, description = text.rpartition("=")
        shape, _, kind = description.partition(":")
        kind, _, values = (kind or "float32").partition(":")
        self.dtype = getattr(torch, kind, None)
        try:
            self.sizes = [] if shape == "scalar" else [range_of(size) for size in shape.split("x")]
        except ValueError:
            raise Refused(f'{option} {text}: "{shape}" is not a shape such as 3x32x32 or 1-64') from None
        if not isinstance(self.dtype, torch.dtype):
            raise Refused(f'{option} {text}: "{kind}" is not a number type such as float32 or int64')
        has_values = not self.dtype.is_floating_point and self.dtype != torch.bool
        if has_values and (not values.isdigit() or int(values) < 1):
            raise Refused(f"{option} {text}: give the number of values, such as {shape}:{kind}:1000")
        self.values = int(values) if has_values else 0

    def sample(self, batch):
        """Returns a random batch of the largest size."""
        sizes = [batch] + [most for _, most in self.sizes]
        if self.values:
            values = torch.randint(0, self.values, sizes, dtype=self.dtype)
            return values.sort(-1).values if self.name == "bbox" else values  # left, top, right, bottom
        return torch.ones(sizes, dtype=self.dtype) if self.dtype == torch.bool else torch.randn(sizes, dtype=self.dtype)


def parameter_names(function):
    """Returns the names of the parameters that take arguments by position."""
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in by_position]


def facts_of_arguments(names, values):
    """Returns what ddp-exp binds by name and checks: for each argument its name, "" if it has none, and its number of values."""
    names = names[: len(values)] + [""] * (len(values) - len(names))
    return [{"name": name, "values": count} for name, count in zip(names, values)]


def answers_next(model, outputs, targets):
    """True if the loss is that of "logits" and the targets one place later: tried, or known of the model's class."""
    logits, loss = outputs.get("logits"), outputs.get("loss")
    if logits is None or loss is None or len(targets) != 1 or logits.dim() != 3 or targets[0].shape != logits.shape[:2]:
        return False
    if targets[0].is_floating_point() or logits.shape[1] < 2:
        return False

    def is_of(logits, targets):
        cross_entropy = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten().long())
        return torch.isclose(loss.float().mean(), cross_entropy, rtol=1e-4).item()

    with torch.no_grad():
        shifted, same = is_of(logits[:, :-1], targets[0][:, 1:]), is_of(logits, targets[0])
    # The loss may have more terms, as with routed experts.
    known = any(one.__module__.startswith("transformers.") and one.__name__.endswith(("ForCausalLM", "LMHeadModel"))
                for one in type(model).__mro__)  # fmt: skip
    return not same and (shifted or known)


def compares_samples(loss, samples, least):
    """True if the loss of a batch is neither the mean nor the sum of its halves': it compares samples with each other.

    loss: a function of samples. least: the smallest batch.
    """
    half = len(samples[0]) // 2
    if half < least:
        return False
    batches = [tuple(one[part] for one in samples) for part in (slice(2 * half), slice(half), slice(half, 2 * half))]
    try:
        with torch.no_grad():
            whole, *parts = (loss_in(outputs_by_name(loss(*batch))).mean() for batch in batches)
    except Exception:  # half a batch is no batch for it
        return True
    return whole.isfinite().item() and not any(torch.isclose(whole, sum(parts) / count, rtol=1e-3).item() for count in (1, 2))


def find_initialisation(model, programs, options):
    """Returns the program by which the model's class draws its weights, and ""; or None, and why there is none."""
    try:
        return initialisation(lambda: build(options.model, options), model, options.seed, programs, require_trainable), ""
    except (Exception, SystemExit) as error:  # of the class, of torch.export
        name = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
        return None, f"{name}{error}".partition("\n")[0]


def save(programs, init, facts):
    """Writes programs to their paths, each with its facts, the first one with the program `init`: all files whole, or none."""
    folder = next(iter(programs)).parent
    try:
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as scratch:
            written = {pathlib.Path(scratch) / path.name: path for path in programs}
            for whole, path in written.items():
                extra = {"ddp-exp.json": json.dumps(facts[path])} if path in facts else None
                parts = {"model": programs[path]} | ({"init": init} if init and path == next(iter(programs)) else {})
                package_pt2(whole, exported_programs=parts, extra_files=extra)
            for whole, path in written.items():
                whole.replace(path)
    except OSError as error:
        raise Refused(f"{folder or '.'}: {error.strerror}") from error
    except Exception as error:  # torch.export.save raises many types
        raise Refused(f"torch.export cannot write the graph: {type(error).__name__}: {error}") from error


def settle_batch_sizes(options):
    """Chooses --batch if it is not given. Raises Refused if torch.export does not take the sizes.

    A batch of one sample does not test a model: torch.export would fix its size.
    """
    least, tried, most = options.min_batch, options.batch, options.max_batch
    if least < 1:
        raise Refused(f"--min-batch {least}: a batch has 1 sample or more")
    if most <= max(least, 1):
        raise Refused(f"--max-batch {most}: give more than --min-batch, {least}: torch.export takes no single size; "
                      "ddp-exp trains with any batch_size from one to the other")  # fmt: skip
    if tried is None:
        options.batch = min(max(4, least), most)
    elif not max(least, 2) <= tried <= most:
        raise Refused(f"--batch {tried}: the batch that tests the model must have {max(least, 2)} to {most} samples")


def names_of_loss(name):
    """Returns the names of a loss's arguments."""
    found = find(name)
    is_module = isinstance(found, type) and issubclass(found, torch.nn.Module)
    return parameter_names(found.forward)[1:] if is_module else parameter_names(found)


def export_loss(name, outputs, targets, options, evaluates=False):
    """Returns the graph of a loss for the outputs of the model, in training or in evaluation."""
    found = find(name)
    with explained(f"--loss {name} fails"):
        loss = found() if isinstance(found, type) else found
    if isinstance(loss, torch.nn.Module):
        wrap_forward(loss, ())
    else:
        loss = torch.nn.Module()
        loss.forward = lambda *arguments: plain(found(*arguments))
    if any(True for _ in loss.parameters()):
        raise Refused(f"{name} has parameters, which would not be trained; make them parameters of the model")
    if evaluates:
        arguments = (*outputs.values(), *targets)
        with explained("the loss fails on the outputs of the model in evaluation, which differ from those in training"):
            expected = evaluated(loss.eval(), arguments)
        return export_evaluation(loss, expected, arguments, shapes_of_loss(arguments, options))
    arguments = (*(one.clone().requires_grad_(one.is_floating_point()) for one in outputs.values()), *targets)
    wrong = "the loss fails on the outputs of the model; --target gives the shapes (without the batch), types and numbers of values of its targets"
    tried = try_twice(loss.train(), arguments, wrong, takes_loss=True)
    require_loss(tried.outputs, f"forward of {name}", options.batch)
    program = export(loss, arguments, shapes_of_loss(arguments, options))
    require_same_step(tried, program.module(), arguments, takes_loss=True)
    tell_of(tried)
    if switched(program) is None:
        raise Refused(f"{name} draws random numbers even in evaluation; draw them in the model")
    return program


def export_prediction(name, model, samples, options):
    """Returns the graph for predictions: of a method of the model, or of a class with the same weights."""
    if ":" in name:
        other = build(name, options)
        with explained(f"--predict {name} does not take the model's weights"):
            other.load_state_dict(model.state_dict())
        wrap_forward(other, names_of(other, options))
    else:
        if not hasattr(model, name):
            raise Refused(f'the model has no method "{name}"')
        other = copy.copy(model)
        method = getattr(model, name)
        other.forward = lambda *inputs: plain(method(*inputs))
    with explained(f"{name} fails"):
        expected = evaluated(other.eval(), samples)
    return export_evaluation(other, expected, samples, dynamic_shapes(options.input, options))


def export_evaluation(model, expected, samples, shapes):
    """Returns the graph of model.eval(), which gives the expected results."""
    program = export(model, samples, shapes)
    without_idle_draws(program)
    look_at_draws(program)
    with explained("the exported graph fails in evaluation"):
        name = first_difference(expected, evaluated(program.module(), samples))
    if name:
        raise Refused(f"the exported graph does not compute what the model computes in evaluation: {name} differs. It may "
                      "depend on the time, or on other generators than torch's" + line_beside_torch(model, samples))  # fmt: skip
    return program


def json_object(option, text):
    """Returns the object that an option gives, or the file that it names."""
    try:
        value = json.loads(pathlib.Path(text).read_text() if text.endswith(".json") else text)
    except OSError as error:
        raise Refused(f"{option} {text}: {error.strerror}") from error
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise Refused(f"{option} {text}: it must be a JSON object, such as '{{\"classes\": 5}}', or the name of a .json file")
    return value


def paths_of(paths):
    """Returns the file to write, and the folder of a model or None."""
    folder = pathlib.Path(paths[0]) if len(paths) > 1 or pathlib.Path(paths[0]).is_dir() else None
    if len(paths) > 2 or folder and not folder.is_dir():
        raise Refused(f"{paths[0]} is no folder" if len(paths) == 2 else f"give a folder and a file, not {len(paths)} paths")
    out = pathlib.Path(paths[-1])
    return (pathlib.Path(f"{folder.resolve().name}.pt2") if folder == out else out), folder


def run(options):
    if not torch.__version__.startswith(TORCH + "."):
        raise Refused(f"this is torch {torch.__version__}, and ddp-exp reads files of torch {TORCH}: "
                      f"pip install torch=={TORCH}.0")  # fmt: skip
    torch.manual_seed(options.seed)
    out, options.folder = paths_of(options.paths)
    if out.suffix != ".pt2":
        raise Refused(f"{out} must end in .pt2")
    if not out.parent.is_dir():
        raise Refused(f"the folder {out.parent} does not exist; make it first")
    settle_batch_sizes(options)
    model = build(options.model, options)
    options.input = [Argument("--input", text) for text in options.input or inputs_of(model, options.loss_from_model)]
    if options.loss_from_model and not options.target and getattr(model, "main_input_name", ""):
        options.target = targets_of(model, [f"{one.name}={one.text.partition('=')[2]}" for one in options.input])
    options.target = [Argument("--target", text) for text in options.target]
    require_trained_parameters(model)
    require_plain_batch_norms(model)
    if options.loss and options.loss_from_model:
        raise Refused("--loss and --loss-from-model: give one of them")
    if options.target and not (options.loss or options.loss_from_model):
        raise Refused("--target: only a loss of Python takes targets here: give --loss or --loss-from-model")
    inputs = tuple(one.sample(batch=options.batch) for one in options.input)
    targets = tuple(one.sample(batch=options.batch) for one in options.target)
    arguments = options.input + (options.target if options.loss_from_model else [])
    samples = inputs + (targets if options.loss_from_model else ())
    keywords, parameters = names_of(model, options), parameter_names(model.forward)
    names = [keyword or (parameters[i] if i < len(parameters) else "") for i, keyword in enumerate(keywords)]
    wrap_forward(model, keywords)
    tried = try_model(model.train(), arguments, options, samples)
    if options.loss_from_model:
        require_loss(tried.outputs, "forward", options.batch)
    shapes = dynamic_shapes(arguments, options)
    programs = {"train": export(model.train(), samples, shapes)}
    trained = programs["train"].module()  # has the model's parameters
    require_same_step(tried, trained, samples, options.loss_from_model, programs["train"].skips_empty)
    with disturbed(model):
        again = None
        with contextlib.suppress(Exception):  # it may not take such weights
            again = step(copy_of(model), samples, options.loss_from_model)
        if again:
            require_same_step(again, trained, samples, options.loss_from_model, programs["train"].skips_empty)
    tell_of(tried)
    if options.loss:
        programs["loss"] = export_loss(options.loss, tried.outputs, targets, options)
    if options.predict:
        programs["predict"] = export_prediction(options.predict, copy_of(model), inputs, options)
    graph = switched(programs["train"])
    with explained("the model fails in evaluation"):
        expected = evaluated(model.eval(), samples)
    if graph is None or first_difference(expected, evaluated(graph, samples)):
        programs["eval"] = export_evaluation(model, expected, samples, shapes)
    if options.loss:
        given = outputs_in(expected)
        if {name: one.shape for name, one in given.items()} != {name: one.shape for name, one in tried.outputs.items()}:
            programs["loss.eval"] = export_loss(options.loss, given, targets, options, evaluates=True)
    files = {name: out if name == "train" else out.with_suffix(f".{name}.pt2") for name in programs}
    init, reason = find_initialisation(model, [one for name, one in programs.items() if "loss" not in name], options)
    facts = {out: {"arguments": facts_of_arguments(names, [one.values for one in arguments]), "fixed_weights": reason,
                   "skips_empty": programs["train"].skips_empty}}  # fmt: skip
    if options.loss_from_model:
        facts[out]["answers_next"] = answers_next(model, tried.outputs, targets)
        facts[out]["compares_samples"] = graph is not None and compares_samples(model, samples, options.min_batch)
    if "loss" in files:
        for name in ("loss", "loss.eval"):
            if name in files:
                values = [0] * len(programs[name].graph_signature.user_inputs)
                facts[files[name]] = {"arguments": facts_of_arguments(names_of_loss(options.loss), values)}
        loss = programs["loss"].module()

        def loss_of(*batch):
            return loss(*outputs_by_name(model(*batch[: len(inputs)])).values(), *batch[len(inputs) :])

        facts[files["loss"]]["compares_samples"] = graph is not None and compares_samples(loss_of, inputs + targets, options.min_batch)
    save({files[name]: program for name, program in programs.items()}, init, facts)
    settings = f'name = "exported", path = "{out}"'
    settings += "".join(f', {name} = "{files[name]}"' for name in ("eval", "predict") if name in files)
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{out}: {count} parameters, batches of {options.min_batch} to {options.max_batch}")
    print(f"model = {{ {settings} }}")
    if options.loss_from_model:
        print('loss = "model"')
    if "loss" in files:
        evaluation = f', eval = "{files["loss.eval"]}"' if "loss.eval" in files else ""
        print(f'loss = {{ name = "exported", path = "{files["loss"]}"{evaluation} }}')


def parsed():
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="module:Class or file.py:Class; a function may replace the class")
    parser.add_argument("paths", nargs="+", metavar="[FOLDER] [OUT]",
                        help="folder of a model of transformers (save_pretrained); file to write, .pt2 (FOLDER.pt2)")  # fmt: skip
    parser.add_argument("--input", action="append", default=[], help="[NAME=]SHAPE[:TYPE[:VALUES]] of one sample")
    parser.add_argument("--target", action="append", default=[], help="[NAME=]SHAPE[:TYPE[:VALUES]] of a target")
    parser.add_argument("--loss-from-model", action="store_true", help="forward takes the targets and returns the loss")
    parser.add_argument("--loss", help="module:Class or file.py:Class of a loss; a function may replace the class")
    parser.add_argument("--predict", nargs="?", const="predict",
                        help="method of the model, or a class with its weights, that predicts from the inputs alone")  # fmt: skip
    parser.add_argument("--args", default="{}", help="arguments of the class, as a JSON object")
    parser.add_argument("--config", help="configuration of a model of transformers: a JSON object, or a .json file")
    parser.add_argument("--pretrained", metavar="FILE", help="weights of a model of timm")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights (0)")
    parser.add_argument("--batch", type=int, help="samples of the batch that tests the model (4, if allowed)")
    parser.add_argument("--min-batch", type=int, default=1, help="smallest batch (1)")
    parser.add_argument("--max-batch", type=int, default=65536, help="largest batch (65536)")
    return parser.parse_args()


def main():
    try:
        run(parsed())
    except Refused as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # of `| head`: all files are written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
