"""For export_model.py: how models of transformers and timm are built, what they take, and what torch.export needs of them."""

import contextlib
import difflib
import importlib
import inspect
import linecache
import pathlib
import random
import re
import sys
import traceback
import types

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensor

from export_checks import Refused, explained, line_of

OF_MODELS = "/transformers/models/"  # in the paths of their files
TEXT = 128  # tokens of a text, if nobody says otherwise
LABELS = 8  # of a sequence whose length no input gives
# Attributes for the rate at which transformers skips whole layers in training.
LAYER_DROP = ("layerdrop", "layer_dropout", "layerdrop_prob", "encoder_layerdrop", "decoder_layerdrop")


class Never(float):
    """A rate of 0. In training transformers draws a number in each layer, and compares it with the rate, also if that is 0.

    The comparison is False without a look at the number, which torch.export could not follow. The draw stays in the graph.
    """

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in (torch.Tensor.__lt__, torch.Tensor.lt, torch.lt, torch.Tensor.__le__, torch.Tensor.le, torch.le):
            return False
        return function(*[float(one) if isinstance(one, cls) else one for one in args], **(kwargs or {}))

    def __gt__(self, other):  # `rate > torch.rand([])`
        return False


def is_of_transformers(model):
    return any(one.__module__.startswith("transformers.") for one in type(model).__mro__)


def configurations(model):
    """Returns the configurations of a model of transformers and of its parts, each once."""
    found = {}
    todo = [one.config for one in model.modules() if hasattr(one, "config")]
    while todo:
        one = todo.pop()
        if hasattr(one, "to_diff_dict") and id(one) not in found:
            found[id(one)] = one
            todo += vars(one).values()
    return list(found.values())


def prepare(model):
    """Sets what changes no number of training, but would keep torch.export from following a model of transformers."""
    if not is_of_transformers(model):
        return
    holders = [*model.modules(), *configurations(model)]
    for one in holders:
        for name in LAYER_DROP:
            if isinstance(vars(one).get(name), (int, float)) and vars(one)[name] == 0:
                setattr(one, name, Never(0.0))
                where = sys.modules[type(one).__module__]
                if getattr(where, "random", None) is random:  # some draw from Python's generator, to compare with this rate
                    where.random = types.SimpleNamespace(uniform=lambda least, most: least)
        if vars(one).get("use_cache"):  # of generation
            one.use_cache = False
        for name, buffer in vars(one).get("_buffers", {}).items():
            if isinstance(buffer, torch.nn.Parameter):  # torch.export would take it for both
                one._buffers[name] = buffer.data


class Traced:
    """What was seen while torch.export followed a forward."""

    def __init__(self):
        self.lines = []  # that fix or compare a size
        self.skips_empty = False  # some parts are called with no rows, where Python would not call them

    def noting(self, log_guard):
        """Returns ShapeEnv._log_guard, which notes the line."""

        def note(environment, *guard, **options):
            self.lines.append(line_of(traceback.extract_stack()))
            return log_guard(environment, *guard, **options)

        return note


class Context:
    """What a torch.autograd.Function gets as ctx, as far as by_factor() takes it."""

    saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def by_factor(apply):
    """Returns Function.apply for a backward that multiplies the gradient by numbers, which a graph lacks otherwise.

    y.detach() + (x - x.detach()) * factor is y, and its gradient is that of y times the factor. The comparison of the
    steps refuses the graph if the backward is another one.
    """

    def applied(function, *arguments):
        original = apply.__get__(None, function)
        trained = [place for place, one in enumerate(arguments) if isinstance(one, torch.Tensor) and one.requires_grad]
        if len(trained) != 1 or function.__module__.startswith("torch."):
            return original(*arguments)
        context, x = Context(), arguments[trained[0]]
        context.needs_input_grad = tuple(place in trained for place in range(len(arguments)))
        try:
            with torch.no_grad():
                has_setup = function.setup_context is not torch.autograd.Function.setup_context
                y = function.forward(*arguments) if has_setup else function.forward(context, *arguments)
                if has_setup:
                    function.setup_context(context, arguments, y)
                gradients = function.backward(context, torch.ones_like(y))
            factor = gradients[trained[0]] if isinstance(gradients, tuple) else gradients
            if factor.shape == x.shape == y.shape and factor.dtype == x.dtype == y.dtype:
                return y.detach() + (x - x.detach()) * factor.detach()
        except Exception:  # its context has more, or its backward needs another gradient
            pass
        return original(*arguments)

    return classmethod(applied)


def lines_of_caller(count):
    """Returns the line of a model of transformers that called the caller, and those below it; of other callers empty lines."""
    caller = sys._getframe(2)
    file = caller.f_code.co_filename if OF_MODELS in caller.f_code.co_filename else ""
    return [linecache.getline(file, caller.f_lineno + i).strip() for i in range(count)]


def broadcast_mask(mask_function, bh_indices=True):
    """Returns an attention mask over (batch, heads, queries, keys) of a function of the four indices."""

    def mask(batch, head, query, key):
        shape = (batch.shape[0], head.shape[0], query.shape[0], key.shape[0])
        return mask_function(batch[:, None, None, None], head[:, None, None], query[:, None], key).expand(shape)

    return mask


def needs_no_mask(padding_mask, query_length, kv_length, kv_offset=0, local_attention_size=None):
    """True if attention with is_causal does what the mask would do: as in eager Python, whose bits it then has."""
    is_local = local_attention_size is not None and kv_length >= local_attention_size
    return padding_mask is None and query_length == kv_length and not is_local


def unless_clamped(function):
    """Returns torch.isinf or isnan, but for tensors that are clamped `if torch.isinf(x).any() or torch.isnan(x).any()`: none is."""

    def found(numbers):
        condition, _, clamped = lines_of_caller(3)
        clamps = condition.startswith("if torch.isinf(") and "torch.clamp(" in clamped
        return types.SimpleNamespace(any=lambda: False) if clamps else function(numbers)

    return found


def all_experts(traced, listed, as_listed):
    """Returns Tensor.__iter__ or tolist; in place of the experts that have got tokens, whose number is not known, it gives all.

    as_listed: what `listed` gives for the number of an expert.
    """

    def experts(tensor):
        line, names = lines_of_caller(1)[0], sys._getframe(1).f_locals
        if not line.startswith("for expert_idx in expert_hit") and 'number of "activated" expert' not in line:
            return listed(tensor)
        traced.skips_empty = True
        return map(as_listed, range(names["num_experts"] if "num_experts" in names else len(names["expert_mask"])))

    return experts


def value_for_all(expression):
    """Returns the value of an expression that is the same for all sizes, or None.

    torch.export cannot tell that min(batch, 170 * batch) == batch, or that (3 * batch - 1) // batch is 2, as in chunk().
    """
    symbols, kinds = list(expression.free_symbols), torch.utils._sympy.functions
    depends_on_data = any(str(one).startswith("u") for one in symbols)  # and may be 0
    if len(symbols) != 1 or depends_on_data or not expression.has(kinds.Min, kinds.FloorDiv):
        return None
    value = expression.subs(symbols[0], 1)
    further = (*range(2, 100), *range(127, 66000, 127), 65536)
    return value if all(expression.subs(symbols[0], size) == value for size in further) else None


def compared(traced, evaluate):
    """Returns ShapeEnv.evaluate_expr, but it tells what torch.export cannot.

    In models of transformers: a number of rows that depends on data is not 0; what a model asserts of its data is true;
    a mask of padding is applied, even if no token is padding.
    """

    def evaluated(environment, expression, *arguments, **options):
        try:
            known = value_for_all(expression)
            return evaluate(environment, expression, *arguments, **options) if known is None else known
        except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode:
            of_none = re.fullmatch(r"Eq\(u\d+, 0\)|(u\d+ > 0|Ne\(u\d+, 0\))", str(expression))
            line = line_of(traceback.extract_stack())
            if OF_MODELS not in line or not of_none and not re.search(r": (assert|if not padding_mask.any\(\):)", line):
                raise
            traced.skips_empty = traced.skips_empty or of_none is not None
            return sympy.false if of_none and not of_none[1] else sympy.true

    return evaluated


def known_positions(*limits, arange=torch.arange, **options):
    """Is torch.arange; what transformers' models compute of a range of fixed length is a constant with known values."""
    fixed = limits and all(isinstance(one, int) for one in limits) and options.get("dtype") in (None, torch.int64)
    if not fixed or not lines_of_caller(1)[0]:
        return arange(*limits, **options)
    return torch.tensor(range(*limits), dtype=torch.int64, device=options.get("device"))


def to_type(module, *where, to=torch.nn.Module.to, **options):
    """Is Module.to, but returns a module that has the type already as it is: torch.export cannot follow more."""
    has_type = not options and all((one.dtype,) == where for one in module.parameters())
    return module if has_type else to(module, *where, **options)


def length_of_batch(values):
    """Returns len(values); of a tensor its first size, which may vary: len() gives only integers."""
    return values.shape[0] if isinstance(values, torch.Tensor) else len(values)


def raises_nothing():
    """False, for the bits of eager Python; but True where a model would only raise an error of wrong sizes."""
    return any(line.startswith("raise ") for line in lines_of_caller(3))


def make_traceable(patch, traced):
    """Replaces what torch.export cannot trace in models of transformers by something with the same result.

    - They build attention masks with torch.vmap, which no archive can hold, and take other ways while they are compiled,
      with other bits.
    - Some look at the first of the positions of tokens, which then are a constant.
    - In training some clamp a tensor with an infinite number; a run with such numbers ends.
    - Models with experts call those that have got tokens. The graph calls all of them, and ddp-exp gives the weights of
      those without tokens no gradient ("skips_empty").
    """
    masks = sys.modules.get("transformers.masking_utils")
    if hasattr(masks, "_vmap_for_bhqkv"):
        patch(masks, "_vmap_for_bhqkv", broadcast_mask)
        patch(masks, "TransformGetItemToIndex", contextlib.nullcontext)  # of vmap
        patch(masks, "_ignore_causal_mask_sdpa", needs_no_mask)
    for name, module in list(sys.modules.items()):
        if not name.startswith("transformers.models."):
            continue
        patch(module, "len", length_of_batch, create=True)
        if "is_torchdynamo_compiling" in vars(module):
            patch(module, "is_torchdynamo_compiling", raises_nothing)
    for function in (torch.isinf, torch.isnan):
        patch(torch, function.__name__, unless_clamped(function))
    patch(torch.Tensor, "__iter__", all_experts(traced, torch.Tensor.__iter__, lambda expert: torch.tensor([expert])))
    patch(FakeTensor, "tolist", all_experts(traced, FakeTensor.tolist, int))
    patch(torch, "arange", known_positions)
    patch(torch.nn.Module, "to", to_type)


def rates_of_layer_drop(model):
    """Returns NAME = RATE of each layer drop that skips layers."""
    found = {name: vars(one)[name] for one in configurations(model) for name in LAYER_DROP if vars(one).get(name)}
    return [f"{name} = {rate}" for name, rate in found.items()]


def from_folder(maker, folder, arguments):
    """Returns a model of transformers with the weights of a folder that save_pretrained has written."""
    if not hasattr(maker, "from_pretrained"):
        raise Refused(f"{folder} is a folder, and only a class of transformers reads one (from_pretrained)")
    if not (folder / "config.json").is_file():
        raise Refused(f"{folder} has no config.json, so save_pretrained has not written it")
    with explained(f"{folder} cannot be read"):
        return maker.from_pretrained(folder, local_files_only=True, use_safetensors=True, **arguments)


def of_timm(name, pretrained, arguments):
    """Returns a model of timm; with the weights of a file, but for a head of another number of classes."""
    with explained("timm cannot be imported"):
        timm = importlib.import_module("timm")
    if not timm.is_model(name):
        near = difflib.get_close_matches(name, timm.list_models(), 1)
        raise Refused(f'timm has no model "{name}"' + (f"; did you mean {near[0]}?" if near else ""))
    weights = {}
    if pretrained:
        if not pathlib.Path(pretrained).is_file():
            raise Refused(f"--pretrained {pretrained} does not exist")
        weights = {"pretrained": True, "pretrained_cfg_overlay": {"file": pretrained}}
    with explained(f"timm cannot make {name}"):
        return timm.create_model(name, **weights, **arguments)


def sizes(value):
    return [value, value] if isinstance(value, int) else list(value)[-2:]


def first_of(config, *names, otherwise=None):
    """Returns the first of these attributes that a configuration, or a part of it, has."""
    parts = [config] + [one for one in vars(config).values() if hasattr(one, "to_diff_dict")]
    return next((getattr(one, name) for one in parts for name in names if getattr(one, name, None)), otherwise)


def length_of(config):
    positions = first_of(config, "max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions")
    # Some models count positions from pad_token_id; XLNet has -1.
    return min(TEXT, positions // 2) if isinstance(positions, int) and positions > 0 else TEXT


def shape_of(name, config):
    """Returns SHAPE[:TYPE[:VALUES]] of an argument of forward; "": unknown."""
    words, text = first_of(config, "vocab_size", "num_hash_buckets"), length_of(config)
    channels = first_of(config, "num_channels", "in_channels", "in_chans", otherwise=3)
    bins = first_of(config, "num_mel_bins", "input_feat_per_channel")
    if name.endswith("input_ids") and words:
        return f"{text}:int64:{words}"
    if name.endswith("attention_mask"):
        return f"{text}:int64:2"
    if name == "token_type_ids":
        return f"{text}:int64:{first_of(config, 'type_vocab_size', otherwise=2)}"
    if name == "bbox":
        return f"{text}x4:int64:{min(1000, first_of(config, 'max_2d_position_embeddings', otherwise=1000))}"
    if name in ("pixel_values", "pixel_values_videos"):
        side = first_of(config, "image_size", "img_size", "input_size", "crop_size", otherwise=224)
        frames = first_of(config, "num_frames", "frames_per_clip")
        return "x".join(map(str, [*([frames] if frames else []), channels, *sizes(side)]))
    if name == "past_values" and hasattr(config, "num_input_channels"):  # of a series of times
        return f"{config.context_length}x{config.num_input_channels}"
    if name == "input_features" and bins:  # of sound: for Whisper two times for each position
        return f"{bins}x{2 * config.max_source_positions}" if config.model_type == "whisper" else f"{TEXT}x{bins}"
    if name == "input_values":  # one second of sound, or its spectrogram
        if config.model_type == "audio-spectrogram-transformer":
            return f"{config.max_length}x{bins}"
        return "1x16000" if hasattr(config, "codebook_size") else "16000"  # codecs take channels
    return ""


def inputs_of(model, has_labels):
    """Returns the descriptions of a public model's inputs, as --input gives them. Raises Refused if they are not known.

    has_labels: forward gets labels, from which a model with a decoder makes the decoder's inputs.
    """
    if hasattr(model, "default_cfg") and not is_of_transformers(model):
        shape = model.default_cfg["input_size"]
        side = getattr(getattr(model, "patch_embed", None), "img_size", None)
        return ["x".join(map(str, [shape[0], *(sizes(side) if side else shape[1:])]))]
    if not is_of_transformers(model):
        raise Refused("--input is missing: it gives the shape of a sample, such as 3x224x224")
    config, parameters = model.config, inspect.signature(model.forward).parameters
    required = [name for name, one in parameters.items() if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    # Parts of models may name an input that their forward does not take.
    main = model.main_input_name if isinstance(model.main_input_name, list) else [model.main_input_name]
    names = [name for name in main if name in parameters] or required[:1] or main
    generates = re.search("ForCausalLM|LMHeadModel|ForConditionalGeneration", type(model).__name__)
    # Models that embed texts and images each by itself need both; others may have images between the words of a text.
    of_both = names == ["pixel_values"] or config.model_type == "vilt"
    of_both = of_both or not generates and hasattr(config, "text_config") and hasattr(config, "vision_config")
    further = [name for name in ("bbox", "input_ids", "pixel_values") if name in parameters and name not in names]
    names += [name for name in further if name == "bbox" or of_both]
    names += [name for name in required if name not in [*names, "labels"]]
    if "input_ids" in names and "attention_mask" in parameters and not generates:
        names.append("attention_mask")
    if "decoder_input_ids" in parameters and not has_labels:
        names.append("decoder_input_ids")
    found = {name: shape_of(name, config) for name in names}
    unknown = [name for name, shape in found.items() if not shape]
    if unknown:
        raise Refused(f"--input is missing: the shape of {unknown[0]} does not follow from the configuration of "
                      f"{type(model).__name__}")  # fmt: skip
    return [f"{name}={shape}" for name, shape in found.items()]


def targets_of(model, inputs):
    """Returns the description of the labels of a model of transformers, as --target gives them."""
    if not is_of_transformers(model) or "labels" not in inspect.signature(model.forward).parameters:
        raise Refused("--target is missing: it gives the shape of a target, such as scalar:int64:10")
    name, config = type(model).__name__, model.config
    classes = config.num_labels
    if re.search("ForSequenceClassification|ForImageClassification|ForAudioClassification|ForVideoClassification", name):
        return [f"scalar:int64:{classes}" if classes > 1 else "scalar:float32"]
    if "ForTokenClassification" in name:
        return [f"{length_of(config)}:int64:{classes}"]
    words = first_of(config, "vocab_size")
    if words and re.search("ForCTC", name):
        return [f"{LABELS}:int64:{words}"]
    ids = next((one for one in inputs if one.startswith("input_ids=")), "")
    if words and (ids or "ForConditionalGeneration" in name) and not re.search("For(?!CausalLM|MaskedLM|ConditionalGeneration)", name):
        return [ids.removeprefix("input_ids=") or f"{length_of(config)}:int64:{words}"]
    raise Refused(f"--target is missing: the shape of the labels does not follow from the configuration of {name}")
