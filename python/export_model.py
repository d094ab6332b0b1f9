#!/usr/bin/env python3
"""Saves a model written in Python for ddp-exp, which trains it without Python.

    export_model.py my_model.py:Net net.pt2 --input 3x32x32
    export_model.py torchvision.models:resnet18 resnet18.pt2 --input 3x224x224 --args '{"num_classes": 10}'
    export_model.py my_gpt:Gpt gpt.pt2 --input 64:int64:50257

The model is a class or a function that returns a torch.nn.Module. --input gives the shape of one sample, without the
batch; its type (float32 by default); for integers, their number of values. A size that varies is a range, such as
1-64:int64:50257 for texts of up to 64 tokens, which `ddp-exp generate` needs for short prompts. A model with several inputs takes --input
several times, in the order of forward's arguments. The model draws its weights after torch.manual_seed(--seed).

A model that computes its loss takes its targets after its inputs. --loss-from-model says so; --target describes each
target as --input describes an input. forward returns the loss, or a dict with "loss"; its other scalars are recorded,
and its "logits" are the answers. --predict names a method of the model, or a class with its weights, that takes the
inputs alone.

A loss of its own is a class or a function too: --loss net.py:Loss. It takes the model's outputs, then the targets.

    export_model.py vae.py:Vae vae.pt2 --input 784 --loss-from-model
    export_model.py towers.py:Towers towers.pt2 --input 32 --input 64 --loss towers.py:InfoNce

The script needs torch 2.11 and the packages that the model imports. Then write in the experiment file:

    model = { name = "exported", path = "net.pt2" }

A model such as one with dropout or batch norm behaves differently in training and evaluation. ddp-exp switches both in
the graph of training. If the model differs in other ways, for example by `if self.training`, the script also writes
net.eval.pt2, which the experiment file names with `eval`.
"""

import argparse
import copy
import functools
import importlib
import importlib.util
import json
import os
import pathlib
import sys
import traceback

try:
    import torch
except ImportError as missing:
    sys.exit(f"error: the script needs PyTorch for Python: pip install torch==2.11.0 ({missing})")

TORCH = "2.11"  # its archives have the format that ddp-exp reads

# For each operator: the argument that tells training from evaluation, a condition, and the argument's value in
# evaluation. The condition, if any, names another argument; if it is not a tensor, nothing changes.
SWITCHES = {
    "dropout": ("train", None, False),
    "native_dropout": ("train", None, False),
    "alpha_dropout": ("train", None, False),
    "feature_dropout": ("train", None, False),
    "feature_alpha_dropout": ("train", None, False),
    "rrelu": ("training", None, False),
    "batch_norm": ("training", "running_mean", False),
    "instance_norm": ("use_input_stats", "running_mean", False),
    "lstm": ("train", None, False),
    "gru": ("train", None, False),
    "rnn_tanh": ("train", None, False),
    "rnn_relu": ("train", None, False),
    "scaled_dot_product_attention": ("dropout_p", None, 0.0),
}
DRAWS = {"bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "poisson", "rand",
         "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "uniform"}  # fmt: skip


class Refused(Exception):
    """A model cannot be saved; the text is for its author."""


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


def line_of(error):
    """Returns the line of the author's Python that an exception comes from."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    own = [one for one in frames if "/torch/" not in one.filename and not one.filename.startswith("<")]
    return f'\n  in File "{own[-1].filename}", line {own[-1].lineno}: {own[-1].line}' if own else ""


def graph_modules(program):
    return [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]


def return_plain_dict(model):
    """Makes forward return a plain dict: an archive with an output class of a library could not be read without it."""
    original = type(model)

    class Plain(original):
        @functools.wraps(original.forward)
        def forward(self, *inputs):
            outputs = original.forward(self, *inputs)
            if not isinstance(outputs, dict) or type(outputs) is dict:
                return outputs
            return {name: value for name, value in outputs.items() if isinstance(value, torch.Tensor)}

    model.__class__ = Plain


def outputs_by_name(outputs):
    """Returns the outputs of a model under the names that ddp-exp gives them."""
    if isinstance(outputs, torch.Tensor):
        return {"output": outputs}
    items = outputs.items() if isinstance(outputs, dict) else enumerate(outputs)
    return {str(name): value for name, value in items if isinstance(value, torch.Tensor)}


def require_loss(outputs, giver):
    """Raises Refused if these are not the outputs of a forward that computes the loss; `giver`: whose forward it is."""
    named = outputs_by_name(outputs)
    is_list = all(name.isdigit() for name in named)
    if len(named) > 1 and not is_list and "loss" not in named:
        raise Refused(f'{giver} returns a dict without "loss"; it has: {", ".join(named)}')
    if not named:
        raise Refused(f"{giver} returns no tensor, and it must return the loss")
    loss = named["loss"] if "loss" in named else next(iter(named.values()))
    if loss.dim() > 0 or not loss.is_floating_point():
        raise Refused(f"{giver} returns a loss of shape {list(loss.shape)} and type {loss.dtype}; "
                      "a loss is one floating-point number: take its mean or sum")  # fmt: skip


def require_trained_parameters(model):
    """Raises Refused if the model has no parameter to train."""
    parameters = list(model.parameters())
    if not parameters:
        raise Refused("the model has no parameters, so there is nothing to train; buffers are not trained")
    if not any(parameter.requires_grad for parameter in parameters):
        raise Refused("the model has requires_grad = False in every parameter, so there is nothing to train; "
                      "call requires_grad_(True) on the parameters to train")  # fmt: skip


def require_no_synchronisation(model):
    """Raises Refused if the model's batch norms would use the samples of all ranks."""
    synchronised = [name for name, part in model.named_modules() if isinstance(part, torch.nn.SyncBatchNorm)]
    if synchronised:
        names = ", ".join(synchronised[:5]) + (", ..." if len(synchronised) > 5 else "")
        raise Refused(
            f"ddp-exp does not synchronise batch norm among ranks, and the model has SyncBatchNorm: {names}\n"
            "  leave out convert_sync_batchnorm, or use BatchNorm1d, BatchNorm2d or BatchNorm3d, which have the same "
            "weights: each rank then normalises with the samples of its own batch"
        )


def require_trainable(program):
    """Raises Refused if the graph contains nodes that ddp-exp cannot train."""
    regions = {"wrap_with_set_grad_enabled", "wrap_with_autocast"}
    for module in graph_modules(program):
        for node in module.graph.nodes:
            if isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() not in regions:
                raise Refused(f"the model's control flow depends on its data ({node.target.name()}){place(node)}")
            if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace != "aten":
                raise Refused(f"the model calls the custom operator {node.target}{place(node)}")
            if arguments_of_node(node).get("sparse") is True:
                raise Refused(
                    "the gradient of the embedding is sparse, and ddp-exp trains with dense ones: "
                    f"leave out sparse=True{place(node)}"
                )


def batch_is_dynamic(program):
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [values[name] for name in program.graph_signature.user_inputs if isinstance(name, str)]
    return all(not isinstance(tensor.shape[0], int) for tensor in inputs if tensor.dim() > 0)


def require_no_draws(program):
    """Raises Refused if evaluation would draw random numbers."""
    for module in graph_modules(program):
        for node in module.graph.nodes:
            if operation(node) in DRAWS:
                raise Refused(
                    f"the model draws random numbers even in evaluation ({operation(node)}); "
                    f"draw only if self.training{place(node)}"
                )


def run_model(model, samples, wrong):
    """Runs a copy of the model. Raises Refused with the author's line if that fails."""
    try:
        tried = copy.deepcopy(model)
    except Exception:  # not every module can be copied; torch.export then finds the same mistakes
        return
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            tried(*samples)
    except Exception as error:
        raise Refused(f"{wrong}: {type(error).__name__}: {error}{line_of(error)}") from error


def try_model(model, texts, options, samples):
    """Finds mistakes that torch.export finds late, or reports without a line."""
    run_model(model, samples, "the model fails on random inputs; --input and --target give their shapes (without the batch), types and numbers of values")
    if options.batch < options.max_batch:
        larger = tuple(sample(text, batch=options.batch + 1) for text in texts)
        run_model(model, larger, "the model works for only one batch size; use x.shape[0] for the size of the batch")


def dynamic_shapes(texts, options):
    """Returns the dimensions of each input that vary: the batch, and each range of --input."""
    shapes = []
    for text in texts:
        shape = {0: torch.export.Dim("batch", min=options.min_batch, max=options.max_batch)}
        for place, size in enumerate(text.partition(":")[0].split("x"), start=1):
            least, is_range, most = size.partition("-")
            if is_range:  # the same range in two inputs is the same size in a sample
                shape[place] = torch.export.Dim(f"from_{least}_to_{most}", min=int(least), max=int(most))
        shapes.append(shape)
    return tuple(shapes)


def shapes_of_loss(samples, options):
    """Returns the dimensions of each argument of a loss that vary: the batch; with ranges of --input, any other one."""
    batch = torch.export.Dim("batch", min=options.min_batch, max=options.max_batch)
    has_ranges = any("-" in text.partition(":")[0] for text in options.input)
    further = {place: torch.export.Dim.AUTO for place in range(1, 9)} if has_ranges else {}
    shapes = []
    for one in samples:
        shape = {place: dim for place, dim in further.items() if place < one.dim()}
        if one.dim() > 0 and one.shape[0] == options.batch:
            shape[0] = batch
        shapes.append(shape)
    return tuple(shapes)


def export(model, samples, shapes):
    try:
        program = torch.export.export(model, samples, dynamic_shapes=shapes)
    except Exception as error:  # torch.export raises many types, each with a long text
        text = f"torch.export cannot save the model:\n  {type(error).__name__}: {error}"
        if "Constraints violated (from_" in str(error):
            text += "\n  the model fixes a size that --input gives as a range: give that size alone, such as 32 for 1-32"
        if "data-dependent" in str(error):
            text += "\n  an `if` on a tensor's value cannot be exported: compute both sides, and choose with torch.where"
        raise Refused(text + line_of(error)) from error
    require_trainable(program)
    if not batch_is_dynamic(program):
        raise Refused("the model works for only one batch size; use x.shape[0] for the size of the batch")
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
                part.graph.erase_node(node)
            elif name in SWITCHES:
                switch(node, *SWITCHES[name])
        part.recompile()
    return module


def switch(node, argument, statistics, value):
    given = arguments_of_node(node)
    if argument not in given or (statistics and given.get(statistics) is None):
        return
    at = names_of_arguments(node).index(argument)
    if at < len(node.args):
        node.update_arg(at, value)
    else:
        node.update_kwarg(argument, value)


def leaves(outputs):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


def evaluated(model, samples, state):
    """Runs a model and returns its outputs and the tensors `state` afterwards; then restores these tensors."""
    before = {name: tensor.clone() for name, tensor in state.items()}
    with torch.no_grad():
        found = leaves(model(*samples)) + [tensor.clone() for tensor in state.values()]
        for name, tensor in state.items():
            tensor.copy_(before[name])
    return found


def same_bits(model, graph, samples):
    """True if graph and model return the same bits in evaluation and leave the same bits in the buffers.

    The fast path of nn.TransformerEncoderLayer for evaluation is off: its bits differ in eager Python, too.
    """
    state = dict(model.state_dict()) | dict(model.named_buffers())  # the graph has the same tensors
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        expected, found = evaluated(model, samples, state), evaluated(graph, samples, state)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return len(expected) == len(found) and all(
        a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num()) and torch.equal(a.isnan(), b.isnan())
        for a, b in zip(expected, found)
    )


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
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise Refused(f"{module_name} cannot be imported: {error}") from error
    if not hasattr(module, attribute):
        raise Refused(f"{module_name} has no {attribute}")
    return getattr(module, attribute)


def build(name, arguments):
    maker = find(name)
    try:
        model = maker(**arguments) if callable(maker) and not isinstance(maker, torch.nn.Module) else maker
    except TypeError as error:
        raise Refused(f"{name} cannot be called with {json.dumps(arguments)}: {error}; see --args") from error
    if not isinstance(model, torch.nn.Module):
        raise Refused(f"{name} gives a {type(model).__name__}, not a torch.nn.Module")
    return model


def largest(size):
    """Returns 32 for "32" and for the range "1-32"."""
    least, is_range, most = size.partition("-")
    if not is_range:
        return int(size)
    if not 0 < int(least) < int(most):
        raise ValueError
    return int(most)


def sample(text, batch):
    """Returns a random batch for an input such as "3x32x32", "64:int64:50257" or "scalar:float32"."""
    shape, _, kind = text.partition(":")
    kind, _, values = (kind or "float32").partition(":")
    dtype = getattr(torch, kind, None)
    try:
        sizes = [batch] + ([] if shape == "scalar" else [largest(size) for size in shape.split("x")])
    except ValueError:
        raise Refused(f'--input {text}: "{shape}" is not a shape such as 3x32x32 or 1-64') from None
    if not isinstance(dtype, torch.dtype):
        raise Refused(f'--input {text}: "{kind}" is not a number type such as float32 or int64')
    if dtype.is_floating_point:
        return torch.randn(sizes, dtype=dtype)
    if dtype == torch.bool:
        return torch.ones(sizes, dtype=dtype)
    if not values.isdigit() or int(values) < 1:
        raise Refused(f"--input {text}: give the number of values, such as {shape}:{kind}:1000")
    return torch.randint(0, int(values), sizes, dtype=dtype)


def save(program, file):
    torch.export.save(program, file)
    return file


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


def export_loss(name, model, samples, targets, options):
    """Returns the graph of a loss for the outputs of the model."""
    found = find(name)
    loss = found() if isinstance(found, type) else found
    if not isinstance(loss, torch.nn.Module):
        loss = torch.nn.Module()
        loss.forward = found
    if any(True for _ in loss.parameters()):
        raise Refused(f"{name} has parameters, which would not be trained; make them parameters of the model")
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        outputs = [one.clone().requires_grad_(one.is_floating_point()) for one in outputs_by_name(model(*samples)).values()]
    arguments = (*outputs, *targets)
    run_model(loss, arguments, "the loss fails on the outputs of the model; --target gives the shapes (without the batch), types and numbers of values of its targets")
    require_loss(loss(*arguments), f"forward of {name}")
    program = export(loss.train(), arguments, shapes_of_loss(arguments, options))
    if switched(program) is None:
        raise Refused(f"{name} draws random numbers even in evaluation; draw them in the model")
    return program


def export_prediction(name, model, samples, options):
    """Returns the graph for predictions: of a method of the model, or of a class with the same weights."""
    if ":" in name:
        other = build(name, arguments_of(options.args))
        other.load_state_dict(model.state_dict())
    else:
        if not hasattr(model, name):
            raise Refused(f'the model has no method "{name}"')
        other = copy.copy(model)
        other.forward = getattr(model, name)
    program = export(other.eval(), samples, dynamic_shapes(options.input, options))
    require_no_draws(program)
    return program


def arguments_of(text):
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        raise Refused(f"--args {text}: it must be a JSON object, such as '{{\"classes\": 5}}'")
    return arguments


def run(options):
    if not torch.__version__.startswith(TORCH + "."):
        raise Refused(f"this is torch {torch.__version__}, and ddp-exp reads files of torch {TORCH}: "
                      f"pip install torch=={TORCH}.0")  # fmt: skip
    torch.manual_seed(options.seed)
    out = pathlib.Path(options.out)
    if out.suffix != ".pt2":
        raise Refused(f"{out} must end in .pt2")
    if not out.parent.is_dir():
        raise Refused(f"the folder {out.parent} does not exist; make it first")
    settle_batch_sizes(options)
    model = build(options.model, arguments_of(options.args))
    require_trained_parameters(model)
    require_no_synchronisation(model)
    if options.loss and options.loss_from_model:
        raise Refused("--loss and --loss-from-model: give one of them")
    if options.target and not (options.loss or options.loss_from_model):
        raise Refused("--target: only a loss of Python takes targets here: give --loss or --loss-from-model")
    inputs = tuple(sample(text, batch=options.batch) for text in options.input)
    targets = tuple(sample(text, batch=options.batch) for text in options.target)
    texts = options.input + (options.target if options.loss_from_model else [])
    samples = inputs + (targets if options.loss_from_model else ())
    return_plain_dict(model)
    try_model(model.train(), texts, options, samples)
    if options.loss_from_model:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            require_loss(copy.deepcopy(model)(*samples), "forward")
    shapes = dynamic_shapes(texts, options)
    program = export(model.train(), samples, shapes)
    extras = {}
    if options.loss:
        extras["loss"] = export_loss(options.loss, copy.deepcopy(model), samples, targets, options)
    if options.predict:
        extras["predict"] = export_prediction(options.predict, copy.deepcopy(model), inputs, options)
    graph = switched(program)
    model.eval()
    needs_second = graph is None or not same_bits(model, graph, samples)
    settings = f'name = "exported", path = "{out}"'
    if needs_second:
        evaluation = export(model, samples, shapes)
        require_no_draws(evaluation)
        second = save(evaluation, out.with_suffix(".eval.pt2"))
        settings += f', eval = "{second}"'
    save(program, out)
    files = {name: save(extra, out.with_suffix(f".{name}.pt2")) for name, extra in extras.items()}
    if "predict" in files:
        settings += f', predict = "{files["predict"]}"'
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{out}: {count} parameters, batches of {options.min_batch} to {options.max_batch}")
    print(f"model = {{ {settings} }}")
    if options.loss_from_model:
        print('loss = "model"')
    if "loss" in files:
        print(f'loss = {{ name = "exported", path = "{files["loss"]}" }}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="module:Class or file.py:Class; a function may replace the class")
    parser.add_argument("out", help="file to write, .pt2")
    parser.add_argument("--input", action="append", required=True, help="SHAPE[:TYPE[:VALUES]] of one sample")
    parser.add_argument("--target", action="append", default=[], help="SHAPE[:TYPE[:VALUES]] of a target")
    parser.add_argument("--loss-from-model", action="store_true", help="forward takes the targets and returns the loss")
    parser.add_argument("--loss", help="module:Class or file.py:Class of a loss; a function may replace the class")
    parser.add_argument("--predict", nargs="?", const="predict",
                        help="method of the model, or a class with its weights, that predicts from the inputs alone")  # fmt: skip
    parser.add_argument("--args", default="{}", help="arguments of the class, as a JSON object")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights (0)")
    parser.add_argument("--batch", type=int, help="samples of the batch that tests the model (4, if allowed)")
    parser.add_argument("--min-batch", type=int, default=1, help="smallest batch (1)")
    parser.add_argument("--max-batch", type=int, default=65536, help="largest batch (65536)")
    try:
        run(parser.parse_args())
    except Refused as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # of `| head`: all files are written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
