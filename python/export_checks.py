"""For export_model.py: runs a model and its graph, and refuses what the graph would not do as Python does it.

A graph has the calls of ATen that one forward made. It has no backward of a torch.autograd.Function of its own, changes
no attribute, and repeats what Python drew from `random` or read from a clock.
"""

import collections
import contextlib
import copy
import importlib
import inspect
import os
import pickle
import random
import sys
import traceback
import unittest.mock

import torch

SCRIPTS = {"export_model.py", "export_checks.py", "export_init.py", "export_public.py"}
PYTHON = os.path.dirname(os.__file__) + os.sep
LISTS = (list, tuple, collections.deque)
Step = collections.namedtuple("Step", "outputs results functions")
CURE = "write it with detach(): y.detach() + a * (x - x.detach()) is y, and passes its gradient times a to x"


class Refused(Exception):
    """A model cannot be saved; the text is for its author."""


def is_own(file):
    """True for a file of the author's, or of a library of models."""
    of_python = file.startswith((PYTHON, "<")) and "-packages/" not in file
    return "/torch/" not in file and not of_python and os.path.basename(file) not in SCRIPTS


def line_of(stack):
    """Returns the innermost line of the author's Python on a stack."""
    own = [one for one in stack if is_own(one.filename)]
    return f'\n  in File "{own[-1].filename}", line {own[-1].lineno}: {own[-1].line}' if own else ""


@contextlib.contextmanager
def explained(wrong):
    """Turns an exception of the author's Python into Refused, with its line."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{wrong}: {type(error).__name__}: {error}{line_of(traceback.extract_tb(error.__traceback__))}") from error


def copy_of(model):
    """Returns a copy; the model itself if it cannot be copied, such as one with torch's old weight_norm."""
    try:
        return copy.deepcopy(model)
    except Exception:
        return model


def outputs_by_name(outputs):
    """Returns the outputs of a model under the names that ddp-exp gives them."""
    if isinstance(outputs, torch.Tensor):
        return {"output": outputs}
    items = outputs.items() if isinstance(outputs, dict) else enumerate(outputs if isinstance(outputs, (list, tuple)) else ())
    named = {str(name): value for name, value in items if isinstance(value, torch.Tensor)}
    if not named:
        raise Refused(f"forward returns a {type(outputs).__name__} without tensors; it must return a tensor, a list or a dict of tensors")
    return named


def loss_in(outputs):
    """Returns the loss among the outputs, by name, of a forward that computes it."""
    return outputs["loss"] if "loss" in outputs else next(iter(outputs.values()))


def tensors_of(model):
    return dict(model.named_parameters()) | dict(model.named_buffers())


@contextlib.contextmanager
def undone(model):
    """Draws from a fixed seed, on one thread; then restores the model's tensors and torch's generator.

    The fast path of nn.TransformerEncoderLayer for evaluation is off: its bits differ in eager Python, too.
    """
    owners = [owner for module in model.modules() for owner in (module._parameters, module._buffers)]
    before = [(owner, name, one, None if one is None else one.detach().clone()) for owner in owners for name, one in owner.items()]
    threads, fast = torch.get_num_threads(), torch.backends.mha.get_fastpath_enabled()
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.mha.set_fastpath_enabled(fast)
        with torch.no_grad():
            for owner, name, tensor, values in before:  # forward may have put another tensor in its place
                owner[name] = tensor if tensor is None else tensor.copy_(values)


def results_of(model, outputs, gradients):
    """Returns copies, which do not change when the run is undone, under names for people."""
    kinds = {"output": outputs, "gradient of": gradients, "buffer": dict(model.named_buffers())}
    results = {
        f'the {kind} "{name}"': None if tensor is None else tensor.detach().clone().to_dense()
        for kind, tensors in kinds.items()
        for name, tensor in tensors.items()
    }
    return {"the number of outputs": torch.tensor(len(outputs))} | results


def outputs_in(results):
    """Returns the outputs among results_of(), under their own names."""
    return {name[len('the output "') : -1]: one for name, one in results.items() if name.startswith('the output "')}


def evaluated(model, samples):
    """Runs forward of a model or a graph, and returns outputs and buffers by name."""
    with undone(model), torch.no_grad():
        return results_of(model, outputs_by_name(model(*(one.clone() for one in samples))), {})


def step(model, samples, takes_loss):
    """Runs forward and backward of a model or a graph in training, and returns outputs, gradients and buffers by name.

    Backward starts from the loss, or from the sum of all outputs with random factors, which tell their gradients apart.
    """
    inputs = {str(place): one.detach().clone().requires_grad_(one.requires_grad) for place, one in enumerate(samples)}
    with undone(model):
        outputs = outputs_by_name(model(*(one.clone() for one in inputs.values())))
        starts = [loss_in(outputs)] if takes_loss else outputs.values()
        starts = [one for one in starts if one.requires_grad and one.is_floating_point()]
        torch.manual_seed(1)  # however many numbers forward drew
        total = sum((one * torch.randn_like(one)).sum() for one in starts)
        trained = {name: one for name, one in (tensors_of(model) | inputs).items() if one.requires_grad and one.is_leaf}
        found = torch.autograd.grad(total, list(trained.values()), allow_unused=True) if starts and trained else ()
        functions = functions_before(total.grad_fn) if starts else []
        results = results_of(model, outputs, dict(zip(trained, found)))
    return Step({name: one.detach() for name, one in outputs.items()}, results, functions)


def functions_before(last):
    """Returns the classes of torch.autograd.Function, other than torch's own, in a graph of autograd."""
    found, seen, todo = [], set(), [last]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [one for one, _ in node.next_functions]
        if isinstance(node, torch.autograd.function.BackwardCFunction) and not node._forward_cls.__module__.startswith("torch."):
            found.append(node._forward_cls)
    return list(dict.fromkeys(found))


def named_function(function):
    name = f"the torch.autograd.Function {function.__qualname__}"
    with contextlib.suppress(OSError, TypeError):  # of a class without source
        return f'{name} (File "{inspect.getsourcefile(function)}", line {inspect.getsourcelines(function)[1]})'
    return name


def same_bits(a, b):
    if a is None or b is None:
        return a is b
    same_kind = a.shape == b.shape and a.dtype == b.dtype
    return same_kind and torch.equal(a.nan_to_num(), b.nan_to_num()) and torch.equal(a.isnan(), b.isnan())


def first_difference(expected, found):
    """Returns the name of the first result that differs; "": none does."""
    return next((name for name, tensor in expected.items() if not same_bits(tensor, found.get(name))), "")


def require_same_step(expected, graph, samples, takes_loss, skips_empty=False):
    """Raises Refused if a graph does not train as the model did in a step with the same inputs.

    skips_empty: the graph calls more than the model did, with no rows; what only these calls use has gradients of 0.
    """
    cause = "".join(f"\n  the model calls {named_function(one)}, whose backward is not in the graph: {CURE}" for one in expected.functions)
    try:
        found = step(graph, samples, takes_loss)
    except Exception as error:
        raise Refused(f"the exported graph cannot be trained: {type(error).__name__}: {error}{cause}") from error
    results = {name: None if skips_empty and expected.results.get(name) is None and one is not None and not one.any() else one
               for name, one in found.results.items()}  # fmt: skip
    name = first_difference(expected.results, results)
    if name:
        replaces = name.startswith("the buffer") and expected.results[name].shape != found.results[name].shape
        cause = cause or ("\n  forward puts another tensor in its place, which no graph does: make it where the model is made" if replaces else
                          "\n  forward may call checkpoint with use_reentrant=True, or set a seed, which no graph has")  # fmt: skip
        raise Refused(f"the exported graph does not train as the model does: {name} differs{cause}")


def tell_of(expected):
    """Says what of a step of the model is not in its graph, or was not compared."""
    notes = [f"the model calls {named_function(one)}. The graph does not call its backward; on random inputs it has the same gradients"
             for one in expected.functions]  # fmt: skip
    blind = [name for name, one in expected.results.items() if one is not None and one.isnan().any()]
    notes += [f"{name} is not a number on random inputs, so it was not compared" for name in blind[:1]]
    for one in notes:
        print(f"note: {one}", file=sys.stderr)


@contextlib.contextmanager
def disturbed(model):
    """Gives the model other weights for a while. With its first ones, of which many are 0, other sums may have the same bits."""
    parameters = [one for one in model.parameters() if one.is_floating_point()]
    before = [one.detach().clone() for one in parameters]
    draw = torch.Generator().manual_seed(1)
    try:
        with torch.no_grad():
            for one in parameters:
                one.add_(torch.empty(one.shape, dtype=one.dtype).normal_(std=0.02, generator=draw))
        yield
    finally:
        with torch.no_grad():
            for one, values in zip(parameters, before):
                one.copy_(values)


def attributes_of(model):
    """Returns the attributes of all modules and their parts by name, as text; a tensor's text tells which tensor it is."""
    found, seen = {}, {}

    def note(name, value):
        if isinstance(value, torch.Tensor):
            found[name] = f"tensor {id(value)}"
        elif isinstance(value, type) or not (isinstance(value, (dict, *LISTS)) or hasattr(value, "__dict__")):
            found[name] = repr(value)
        elif seen.setdefault(id(value), name) != name:
            found[name] = f"the same as {seen[id(value)]}"
        else:
            parts = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, LISTS) else vars(value)
            found[name] = f"{type(value)} of {len(parts)}"
            for key, part in list(parts.items()):
                note(f"{name}.{key}", part)

    for prefix, module in model.named_modules():
        for key, value in list(vars(module).items()):
            if key not in ("_parameters", "_buffers", "_modules"):
                note(f"{prefix}.{key}".lstrip("."), value)
    return found


def changes(before, after):
    """Returns the names of the attributes that differ; not those of containers whose parts differ."""
    differ = [name for name, text in after.items() if before.get(name) != text]
    return [name for name in differ if not any(other.startswith(f"{name}.") for other in differ)]


def draws_of_python():
    """Returns the state of the generators that are not torch's."""
    states = [random.getstate()]
    with contextlib.suppress(ImportError):
        states.append(importlib.import_module("numpy.random").get_state())
    return pickle.dumps(states)


def line_beside_torch(model, samples):
    """Returns the first line of the author's Python that draws from another generator than torch's, or reads a clock.

    NumPy's generator is no function of C for a profiler: a line has drawn if the state differs at the next line.
    """
    lines, last, draws = [], "", draws_of_python()

    def note(frame, event, called):
        nonlocal last
        if event == "c_call":
            source = getattr(called, "__module__", None) or getattr(called.__self__, "__module__", None)
            lines.extend([line_of(traceback.extract_stack(frame))] if source in ("random", "time", "datetime") else [])
        elif event in ("line", "return") and is_own(frame.f_code.co_filename):
            lines.extend([last] if draws_of_python() != draws else [])
            last = line_of(traceback.extract_stack(frame))
        return note

    with undone(model), torch.no_grad(), contextlib.suppress(Exception):
        sys.setprofile(note)
        sys.settrace(note)
        try:
            model(*(one.clone() for one in samples))
        finally:
            sys.settrace(None)
            sys.setprofile(None)
    return lines[0] if lines else ""


def refuse_packing(*_):
    where = line_of(traceback.extract_stack())
    raise Refused(f"pack_padded_sequence cannot be exported: pad, and mask or gather the last step{where}")


def try_twice(model, samples, wrong, takes_loss=False):
    """Runs two steps of a copy of the model and returns the second.

    Raises Refused if forward fails, or does what a graph does not repeat. An attribute that has the same value after
    both, such as a table that the first call computes, is fine; so is a tensor that forward keeps and does not read.
    """
    tried = copy_of(model)
    attributes, draws, steps = [attributes_of(tried)], draws_of_python(), []
    for _ in range(2):
        with explained(wrong), unittest.mock.patch.object(torch._VF, "_pack_padded_sequence", refuse_packing):
            steps.append(step(tried, samples, takes_loss))
        attributes.append(attributes_of(tried))
    if draws_of_python() != draws:
        raise Refused("forward draws from Python's or NumPy's generator, and the graph would have the same numbers in "
                      f"each step: draw with torch, such as torch.rand(()){line_beside_torch(tried, samples)}")  # fmt: skip
    changed = [name for name in changes(*attributes[1:]) if not attributes[2][name].startswith("tensor ")]
    difference = first_difference(steps[0].results, steps[1].results)
    if difference:
        changed = changed or changes(*attributes[:2])
    if changed:
        raise Refused(f"forward changes the attribute {', '.join(changed[:3])}, and the graph would keep one value of it: "
                      'make it a buffer, and change it in place: register_buffer("step", torch.zeros(())), step.add_(1)')  # fmt: skip
    if difference:
        raise Refused(f"{difference} differs in two runs with the same inputs and the same state of torch's generator; the "
                      "graph would have the same numbers in each step. It may depend on the time, or on a generator of "
                      f"its own{line_beside_torch(tried, samples)}")  # fmt: skip
    return steps[1]
