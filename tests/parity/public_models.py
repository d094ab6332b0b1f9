"""The models of torchvision, timm and transformers, at a reduced size: for each of them the arguments of export_model.py."""

import importlib
import inspect
import json
import re

# Which class stands for a kind of configuration: the first of these that transformers has for it.
HEADS = ["CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "CTC", "MASKED_LM", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "AUDIO_CLASSIFICATION",
         "VIDEO_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT", "SEQUENCE_CLASSIFICATION", "SEMANTIC_SEGMENTATION", "DEPTH_ESTIMATION",
         "OBJECT_DETECTION", "PRETRAINING"]  # fmt: skip
# The attributes of configurations by patterns of their names, and what a reduced model has instead of more.
REDUCED = [
    (r"(.*_)?vocab_size", 99),
    (r"type_vocab_size", 2),
    (r"depth|n_layers?|num_layers|(.*_)?layers|(.*_)?num_hidden_layers|num_.*_layers", 2),
    (r"n_heads?|heads|num_heads|(.*_)?attention_heads|(.*_)?num_attention_heads|num_.*attention_heads|num_key_value_heads|n_head_kv", 2),
    (r"hidden_size|d_model|n_embd|dim|width|emb_dim|(.*_)?embed_dim|model_dim|hidden_dim|embedding_size|projection_dim|(.*_)?hidden_size", 32),
    (r"d_ff|d_inner|n_inner|inner_dim|mlp_dim|(.*_)?ffn_dim|(.*_)?intermediate_size|ffn_hidden_size|dim_feedforward", 48),
    (r"(.*_)?head_dim|d_kv|kv_channels|attention_head_size", 16),
    (r"rotary_dim|q_lora_rank|kv_lora_rank|v_head_dim", 8),
    (r"(.*_)?max_position_embeddings|n_positions|n_ctx|max_source_positions|max_target_positions|max_seq_len|max_sequence_length", 64),
    (r"image_size|img_size", 32),
    (r"patch_size|encoder_stride", 8),
    (r"num_experts|num_local_experts|n_routed_experts|moe_num_experts", 4),
]
# What the rules above do not find.
FURTHER = {
    "autoformer": {"prediction_length": 8}, "informer": {"prediction_length": 8}, "time_series_transformer": {"prediction_length": 8},
    "bit": {"num_groups": 8}, "big_bird": {"attention_type": "original_full"},
    "codegen": {"n_head": 4, "n_embd": 64, "rotary_dim": 8}, "hunyuan_v1_dense": {"head_dim": 16}, "hunyuan_v1_moe": {"head_dim": 16}, "esm": {"vocab_size": 33},
}  # fmt: skip
SMALL = ["test_", "atto", "femto", "pico", "nano", "xxs", "xxtiny", "_xs", "xtiny", "tiny", "_ti", "mini", "_s0", "b0", "_t0", "_m0",
         "0_", "_t_", "_t", "small", "_s", "_050", "_035", "_13", "16", "18", "26", "_b", "121", "41", "50"]  # fmt: skip
DROPS = r".*drop(out)?(_?(rate|prob|path|p))?|.*(_dropout|dropout_.*|_pdrop|drop_path.*)"


def of_torchvision():
    """Yields (name, family, arguments) of every model of torchvision."""
    import torchvision.models as models

    for name in models.list_models():
        maker = models.get_model_builder(name)
        family = maker.__module__.removeprefix("torchvision.models.")
        module = maker.__module__ if "." in family else "torchvision.models"
        several = [f"3x{size}x{size}" for size in (64, 128, 224, 299)]
        shapes = [[one] for one in several]
        if family.startswith("video"):
            shapes = [["3x16x64x64"], ["3x16x224x224"]]
        elif family.startswith("optical_flow"):
            shapes = [["3x128x128", "3x128x128"]]
        arguments = {"weights": None}
        arguments |= {"weights_backbone": None} if "weights_backbone" in inspect.signature(maker).parameters else {}
        arguments |= {"init_weights": True} if family in ("googlenet", "inception") else {}
        yield name, family, [[f"{module}:{maker.__name__}", "--args", json.dumps(arguments), *inputs(shape)] for shape in shapes]


def inputs(shapes):
    return [word for one in shapes for word in ("--input", one)]


def of_timm():
    """Yields (name, family, arguments) of one model of each of timm's modules: the one whose name says that it is small."""
    import timm

    for family in timm.list_modules():
        names = timm.list_models(module=family)
        if names:
            name = min(names, key=lambda one: (next((i for i, word in enumerate(SMALL) if word in one), len(SMALL)), len(one), one))
            yield name, family, [[f"timm:{name}"]]


def classes_of_transformers():
    """Returns the name of one class for each kind of configuration."""
    lists = importlib.import_module("transformers.models.auto.modeling_auto")
    found = {}
    for mapping in [f"MODEL_FOR_{head}_MAPPING_NAMES" for head in HEADS] + ["MODEL_MAPPING_NAMES"]:
        for kind, name in getattr(lists, mapping).items():
            found.setdefault(kind, name if isinstance(name, str) else name[0])
    return dict(sorted(found.items()))


def reduced(config, drops):
    """Returns what a configuration of transformers has to be given for a small model; without `drops` one without dropout."""
    found = {}
    for name, value in vars(config).items():
        size = next((size for pattern, size in REDUCED if re.fullmatch(pattern, name)), None)
        if hasattr(value, "to_diff_dict"):
            found[name] = {"model_type": value.model_type} | reduced(value, drops)
        elif isinstance(value, bool) or value is None or name.startswith("_"):
            continue
        elif isinstance(value, int) and size:
            found[name] = min(value, size)
        elif isinstance(value, int) and name.endswith("_token_id") and value >= 99:
            found[name] = 3
        elif isinstance(value, float) and (re.search("layer_?drop|mask_.*_prob", name) or not drops and re.fullmatch(DROPS, name)):
            found[name] = 0.0  # a rate of layer drop cannot be exported; masks of audio draw from NumPy's generator
        elif isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value):
            if re.search("depths|num_blocks|layers$|layer_nums|layer_repeats", name):
                found[name] = [1] * len(value)
            elif name.endswith("heads"):
                found[name] = [min(one, 2) for one in value]
            elif re.search("hidden_sizes|dims?$|encoder_hidden|channels$|widths", name) and max(value) > 64:
                factor = max(value) / 64
                found[name] = [max(16, 16 * round(one / factor / 16)) for one in value]
    known = {"use_pretrained_backbone": False, "apply_spec_augment": False, "use_cache": False}
    found |= {name: value for name, value in known.items() if hasattr(config, name)}
    found = {name: value for name, value in found.items() if value != getattr(config, name)}
    return found | FURTHER.get(config.model_type, {})


def arguments_of_transformers(name, drops):
    """Returns the arguments of export_model.py for a class, at a reduced size: with its own loss, if it has one, or without."""
    cls = getattr(importlib.import_module("transformers"), name)
    command = [f"transformers:{name}", "--config", json.dumps(reduced(cls.config_class(), drops))]
    has_loss = "labels" in inspect.signature(cls.forward).parameters
    return [[*command, "--loss-from-model"], command] if has_loss else [command]


def of_transformers():
    """Yields (name, family, None) of each kind of configuration; arguments_of_transformers() gives the arguments."""
    for kind, name in classes_of_transformers().items():
        yield name, kind, None


LIBRARIES = {"torchvision": of_torchvision, "timm": of_timm, "transformers": of_transformers}
