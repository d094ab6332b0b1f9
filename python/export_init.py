"""For export_model.py: records how a class fills its tensors, as a program that fills them anew from any seed.

The program has the calls of ATen by which the class filled its parameters and buffers, and all calls that draw from
torch's generator, in their order. It has no views: a parameter, its `.data` and its slices are places in one storage,
and as_strided reaches each.
"""

import contextlib
import dataclasses
import io
import logging
import operator
import warnings

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from export_checks import Refused, first_difference, tensors_of

ATEN = torch.ops.aten
MOST_CONSTANTS = 1 << 20  # bytes; more are trained weights


def require(fine, reason):
    if not fine:
        raise Refused(reason)


@dataclasses.dataclass(frozen=True)
class Place:
    """The place of a tensor in a storage. A freed storage's reference is equal to no other storage's."""

    storage: StorageWeakRef
    dtype: torch.dtype
    size: tuple
    stride: tuple
    offset: int

    @classmethod
    def of(cls, tensor):
        is_plain = tensor.device.type == "cpu" and tensor.layout == torch.strided
        require(is_plain and not tensor.is_conj() and not tensor.is_neg(), "a tensor is not a plain one of the CPU")
        return cls(StorageWeakRef(tensor.untyped_storage()), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


@dataclasses.dataclass
class Call:
    function: object  # None: a constant
    args: object
    kwargs: dict
    reads: set  # storages
    writes: set
    makes: dict  # the places of tensors with new storages, by their index in the result; None: the result itself
    draws: bool


def tensors_in(tree):
    return [one for one in tree_leaves(tree) if isinstance(one, torch.Tensor)]


def storages_of(tensors):
    return {Place.of(one).storage for one in tensors}


class Recorder(TorchDispatchMode):
    """Notes calls of ATen. Raises Refused before one that touches the tensors of `foreign`."""

    def __init__(self, foreign):
        super().__init__()
        self.foreign = storages_of(foreign)
        self.calls = []
        self.bytes = {}  # of each storage
        self.drawn = set()  # the storages that depend on the generator

    def note(self, function, args, kwargs, results, reads=(), writes=(), draws=False):
        makes = {index: Place.of(one) for index, one in results.items() if Place.of(one).storage not in self.bytes}
        self.bytes |= {makes[index].storage: results[index].untyped_storage().nbytes() for index in makes}
        if makes or writes or draws:
            self.calls.append(Call(function, args, kwargs, set(reads), set(writes), makes, draws))
        if draws or self.drawn & set(reads):
            require(results or writes, "the class reads a number that depends on the generator")
            self.drawn |= set(writes) | {one.storage for one in makes.values()}

    def know(self, tensor, is_overwritten=False):
        """Notes the storage of a tensor that no call has made, with its values."""
        storage = Place.of(tensor).storage
        require(storage not in self.foreign, "the class does not make its own tensors")
        if storage in self.bytes:
            return
        whole = tensor.detach().as_strided([tensor.untyped_storage().nbytes() // tensor.itemsize], [1], 0)
        if is_overwritten:
            self.note(ATEN.empty.memory_format, ([len(whole)],), {"dtype": tensor.dtype}, {None: whole})
        elif len(whole) == 1 and not tensor.is_complex():
            self.note(ATEN.full.default, ([1], whole.item()), {"dtype": tensor.dtype}, {None: whole})
        else:
            self.note(None, whole.clone() if whole.nbytes <= MOST_CONSTANTS else None, {}, {None: whole})

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if torch.Tag.inplace_view in function.tags:
            return function(*args, **kwargs)
        schema, given = function._schema.arguments, tensors_in((args, kwargs))
        named = dict(zip((one.name for one in schema), args)) | kwargs
        written = tensors_in([named.get(one.name) for one in schema if one.alias_info and one.alias_info.is_write])
        for one in given:
            covers = one.nbytes == one.untyped_storage().nbytes()
            self.know(one, is_overwritten=function is ATEN.copy_.default and one is args[0] and covers)
        generators = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Generator)]
        require(all(one is torch.default_generator for one in generators), "the class draws from a generator of its own")
        noted = tree_map_only(torch.Generator, lambda _: None, tree_map_only(torch.Tensor, Place.of, (args, kwargs)))
        reads, writes = storages_of(given), storages_of(written)
        result = function(*args, **kwargs)
        results = {None: result} if isinstance(result, torch.Tensor) else dict(enumerate(tensors_in(result)))
        if results and not given and any(one.name == "dtype" for one in schema):
            noted[1]["dtype"] = next(iter(results.values())).dtype  # else torch's default, which the class may change
        self.note(function, *noted, results, reads, writes, torch.Tag.nondeterministic_seeded in function.tags)
        return result

    def calls_for(self, places):
        """Returns the calls that draw, or that fill these places."""
        live, calls = {one.storage for one in places}, []
        for call in reversed(self.calls):
            if call.draws or live & (call.writes | {one.storage for one in call.makes.values()}):
                live |= call.reads
                calls.append(call)
        return calls[::-1]

    def program(self, places):
        """Returns a program that fills the places of a dict, and gives their tensors by its keys."""
        graph, constants, bases, nodes = torch.fx.Graph(), {}, {}, {}

        def called(function, *args, **kwargs):
            return graph.call_function(function, args, kwargs)

        def node_of(place):
            if place not in nodes:
                base = bases[place.storage]
                node, size = nodes[base], self.bytes[place.storage] // base.dtype.itemsize
                if place.dtype != base.dtype:
                    node = called(ATEN.view.dtype, called(ATEN.as_strided.default, node, [size], [1], 0), place.dtype)
                nodes[place] = called(ATEN.as_strided.default, node, list(place.size), list(place.stride), place.offset)
            return nodes[place]

        for call in self.calls_for(places.values()):
            if call.function is None:
                require(call.args is not None, "the class reads its weights from a file")
                constants[name := f"constant_{len(constants)}"] = call.args
                node = called(ATEN.clone.default, graph.get_attr(name))
            else:
                args, kwargs = tree_map_only(Place, node_of, (call.args, call.kwargs))
                node = called(call.function, *args, **kwargs)
            for index, place in call.makes.items():
                bases[place.storage] = place
                nodes[place] = node if index is None else called(operator.getitem, node, index)
        require(sum(one.nbytes for one in constants.values()) <= MOST_CONSTANTS, "the class reads its weights from a file")
        graph.output({name: node_of(one) for name, one in places.items()})
        return torch.export.export(torch.fx.GraphModule(constants, graph), ())


@contextlib.contextmanager
def quiet():
    """Keeps what a class says from being said again, and the generator's state."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable()
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(torch.random.fork_rng(devices=[]))
        yield


def require_same(found, tensors):
    name = first_difference(found, tensors)
    require(not name, f'"{name}" depends on more than the seed of torch')


def places_to_fill(made, recorder, programs):
    """Returns the places of a model's parameters and buffers that its archive has as weights, by their names."""
    kept = {name for one in programs for name in one.state_dict}
    places = {}
    for name, one in tensors_of(made).items():
        recorder.know(one)
        if name in kept:
            places[name] = Place.of(one)
    others = recorder.drawn - {one.storage for one in places.values()}
    has_constants = any(name not in kept for one in programs for name in one.constants)
    require(not has_constants or all(one.expired() for one in others), "a tensor that is drawn is no parameter and no persistent buffer")
    return places


def initialisation(make, model, seed, programs, check):
    """Returns a program that fills a model's parameters and buffers as its class does, and gives them by their names.

    make: builds a model; after torch.manual_seed(seed) it gave `model`, whose programs are given. check: raises if
    ddp-exp cannot run a program. Raises Refused if there is no such program, or if the seed changes no tensor.
    """
    recorded, other = [one for one in range(3) if one != seed][:2]
    with quiet(), torch.no_grad():
        torch.manual_seed(recorded)
        with Recorder(tensors_of(model).values()) as recorder, torch.enable_grad():
            made = make()
        places = places_to_fill(made, recorder, programs)
        del made  # no more than two models at once
        program = recorder.program(places)
        check(program)
        fill = program.module()
        torch.manual_seed(seed)
        require_same(fill(), tensors_of(model))
        torch.manual_seed(other)
        found, state = fill(), torch.get_rng_state()
        require(first_difference(found, tensors_of(model)), "the class draws nothing")
        torch.manual_seed(other)
        with torch.enable_grad():
            require_same(found, tensors_of(make()))
        require(torch.equal(state, torch.get_rng_state()), "the class draws another number of values than before")
    return program
