"""The models of torchvision, timm and transformers, at a reduced size: for each of them the arguments of export_model.py."""

import importlib
import inspect
import json
import re

# A kind of configuration is tried with the first of these heads that transformers has for it.
HEADS = ["CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "CTC", "MASKED_LM", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "AUDIO_CLASSIFICATION",
         "VIDEO_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT", "SEQUENCE_CLASSIFICATION", "SEMANTIC_SEGMENTATION", "DEPTH_ESTIMATION",
         "OBJECT_DETECTION", "PRETRAINING"]  # fmt: skip
# The attributes of configurations by patterns of their names, and what a reduced model has instead of more.
REDUCED = [
    (r"(.*_)?vocab_size(_per_layer_input)?", 99),
    (r"type_vocab_size", 2),
    (r"depth|n_layers?|num_layers|(.*_)?layers|(.*_)?num_hidden_layers|num_.*_layers", 2),
    (r"n_heads?|heads|num_heads|(.*_)?attention_heads|num_.*attention_heads|(.*_)?num_key_value_heads|n_head_kv", 2),
    (r"(.*_)?hidden_size(_global)?|(.*_)?hidden_dim|(.*_)?embed_dim|embedding_size|emb_dim|n_embd|projection_dim", 32),
    (r"d_model|model_dim|dim|width", 32),
    (r"d_ff|d_inner|n_inner|inner_dim|mlp_dim|(.*_)?ffn_dim|(.*_)?intermediate_size|ffn_hidden_size|dim_feedforward", 48),
    (r"(.*_)?head_dim|d_kv|kv_channels|attention_head_size", 16),
    (r"rotary_dim|q_lora_rank|kv_lora_rank|v_head_dim", 8),
    (r"(.*_)?max_position_embeddings|n_positions|n_ctx|max_source_positions|max_target_positions|max_seq_len|max_sequence_length", 64),
    (r"image_size|img_size|crop_size", 32),
    (r"patch_size|encoder_stride", 8),
    (r"num_experts|num_local_experts|n_routed_experts|moe_num_experts", 4),
    (r"(.*_)?num_(queries|proposals)", 8),
    (r"num_experts_per_tok|moe_k|n_group|frames_per_clip", 2),
    (r"(mamba_)?d_state|(mamba_)?chunk_size|mamba_d_head", 16),
]
# Further attributes of some kinds; None: the default.
FURTHER = {
    "Glm4vMoe_text": {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}}, "align": {"projection_dim": 320},
    "align_vision_model": {"width_coefficient": 1.0, "depth_coefficient": 1.0, "in_channels": None, "out_channels": None},
    "autoformer": {"prediction_length": 8, "num_time_features": 2}, "bamba": {"mamba_n_heads": 4, "mamba_d_head": 16},
    "big_bird": {"attention_type": "original_full"}, "bit": {"num_groups": 8}, "blip-2": {"image_token_index": 5},
    "bridgetower": {"hidden_size": 64}, "bridgetower_text_model": {"hidden_size": 64, "num_attention_heads": 2},
    "bridgetower_vision_model": {"hidden_size": 64}, "bros": {"hidden_size": 64}, "chameleon": {"vocabulary_map": {"<image>": 4}},
    "clap_audio_model": {"hidden_size": 256}, "clvp_encoder": {"vocab_size": 256, "hidden_size": 64},
    "codegen": {"n_head": 4, "n_embd": 64, "rotary_dim": 8},
    "d_fine": {"encoder_in_channels": [32, 64, 64], "decoder_in_channels": [32, 32, 32]},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_routed_experts": 4, "n_group": 1, "topk_group": 1}, "deepseek_v3": {"topk_group": 1},
    "depth_pro": {"patch_size": 16, "intermediate_hook_ids": [1, 0]}, "donut-swin": {"image_size": 64, "window_size": 2},
    "dots1": {"num_experts_per_tok": 2, "n_routed_experts": 4, "n_shared_experts": 1},
    "dpt": {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]}, "efficientformer": {"dim": 64, "image_size": None},
    "efficientnet": {"width_coefficient": 1.0, "depth_coefficient": 1.0, "in_channels": None, "out_channels": None, "hidden_dim": 1280},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16},
    "gemma3n_text": {"num_kv_shared_layers": 0, "intermediate_size": 48, "activation_sparsity_pattern": [0.0, 0.0]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"mamba_n_heads": 4, "mamba_d_head": 16, "layer_types": ["mamba", "attention"]},
    "hgnet_v2": {"stem_channels": [3, 16, 16], "stage_in_channels": [16, 32, 32, 64], "stage_mid_channels": [16, 16, 16, 16],
     "stage_out_channels": [32, 32, 64, 64], "hidden_sizes": [32, 32, 64, 64], "embedding_size": 16},
    "hunyuan_v1_dense": {"head_dim": 16}, "hunyuan_v1_moe": {"head_dim": 16},
    "informer": {"prediction_length": 8, "num_time_features": 2}, "instructblip": {"image_token_index": 5},
    "instructblipvideo": {"video_token_index": 5}, "layoutlmv3": {"coordinate_size": 6, "shape_size": 4},
    "levit": {"patch_size": None, "image_size": 64}, "lilt": {"hidden_size": 48}, "longcat_flash": {"qk_head_dim": 32},
    "mamba2": {"num_heads": 4, "n_groups": 2},
    "mimi": {"upsample_groups": 32, "codebook_dim": 32, "vector_quantization_hidden_dimension": 32}, "ministral": {"head_dim": 16},
    "mllama_text_model": {"rope_scaling": {"rope_type": "default"}}, "mobilevitv2": {"image_size": 64},
    "nemotron": {"num_key_value_heads": 2}, "oneformer": {"task_seq_len": 16},
    "perceiver": {"d_latents": 64, "num_latents": 16, "num_self_attends_per_block": 2},
    "phi4_multimodal": {"vision_config": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
     "num_attention_heads": 2}, "audio_config": {"hidden_size": 32, "intermediate_size": 48, "num_blocks": 1, "num_attention_heads": 2}},
    "pix2struct_vision_model": {"patch_embed_hidden_size": 768},
    "reformer": {"is_decoder": True, "axial_pos_shape": [4, 8], "axial_pos_embds_dim": [16, 16], "attn_layers": ["local", "lsh"],
     "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8, "num_buckets": 4},
    "rt_detr": {"decoder_in_channels": [32, 32, 32]}, "rt_detr_v2": {"decoder_in_channels": [32, 32, 32]},
    "sam2_hiera_det_model": {"hidden_size": 16, "num_attention_heads": 1, "blocks_per_stage": [1, 1, 2, 1], "embed_dim_per_stage": [16,
     32, 64, 128], "num_attention_heads_per_stage": [1, 2, 4, 8], "global_attention_blocks": [3], "image_size": [64, 64]},
    "sam2_vision_model": {"backbone_channel_list": [128, 64, 32, 16], "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]]},
    "sam_hq_vision_model": {"output_channels": 32, "num_pos_feats": 16}, "sam_vision_model": {"output_channels": 32, "num_pos_feats": 16},
    "seggpt": {"image_size": [64, 32]}, "swin": {"image_size": 64, "window_size": 2},
    "textnet": {"stem_out_channels": 16, "image_size": [64, 64]},
    "time_series_transformer": {"prediction_length": 8, "num_time_features": 2}, "timm_backbone": {"backbone": "resnet10t"},
    "wav2vec2-bert": {"vocab_size": 99},
    "wav2vec2-conformer": {"vocab_size": 99}, "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "attention_hidden_size": 64, "attention_head_dim": 32},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"]}, "zoedepth": {"bottleneck_features": 32},
}  # fmt: skip
OF_VIDEO = ["glm4v_text", "qwen2_vl_text", "qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text"]
FURTHER |= dict.fromkeys(OF_VIDEO, {"rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]}})
# Configurations that have no default: of two other models.
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
BERT = {"model_type": "bert", "vocab_size": 99} | SIZES
VIT = {"model_type": "vit", "image_size": 32, "patch_size": 8} | SIZES
SOUND = {"model_type": "wav2vec2", "conv_dim": [32, 32], "conv_stride": [10, 16], "conv_kernel": [10, 16], "num_feat_extract_layers": 2,
         "num_conv_pos_embedding_groups": 4, "apply_spec_augment": False, "layerdrop": 0.0} | SIZES  # fmt: skip
DECODER = BERT | {"is_decoder": True, "add_cross_attention": True}
COMPOSED = {
    "encoder-decoder": {"encoder": BERT, "decoder": DECODER, "decoder_start_token_id": 1, "pad_token_id": 0},
    "speech-encoder-decoder": {"encoder": SOUND, "decoder": DECODER, "decoder_start_token_id": 1, "pad_token_id": 0},
    "vision-encoder-decoder": {"encoder": VIT, "decoder": DECODER, "decoder_start_token_id": 1, "pad_token_id": 0},
    "vision-text-dual-encoder": {"vision_config": VIT, "text_config": BERT, "projection_dim": 32},
}  # fmt: skip
TWO_TEXTS = ["input_ids=32:int64:99", "decoder_input_ids=32:int64:99"]
SERIES = ["past_values=15", "past_time_features=15x2", "past_observed_mask=15:bool"]
# Inputs that do not follow from the configuration by the rules of export_public.py.
INPUTS = {
    "autoformer": SERIES, "canine": ["input_ids=64:int64:1000"],
    "clap": ["input_ids=32:int64:99", "input_features=1x1024x64", "attention_mask=32:int64:2"],
    "clvp": ["input_ids=32:int64:99", "input_features=80x64"],
    "decision_transformer": ["states=20x17", "actions=20x4", "rewards=20x1", "returns_to_go=20x1", "timesteps=20:int64:64",
     "attention_mask=20:int64:2"],
    "depth_pro": ["pixel_values=3x64x64"], "dia": ["input_ids=32:int64:99", "decoder_input_ids=32x9:int64:99"],
    "gemma3n_audio": ["audio_mel=64x128", "audio_mel_mask=64:bool"], "glm4v": ["input_ids=32:int64:99", "attention_mask=32:int64:2"],
    "glm4v_moe": ["input_ids=32:int64:99", "attention_mask=32:int64:2"],
    "idefics": ["input_ids=32:int64:99", "pixel_values=1x3x32x32", "attention_mask=32:int64:2", "image_attention_mask=32x1:int64:2"],
    "informer": SERIES, "instructblipvideo": ["pixel_values=4x3x32x32", "qformer_input_ids=32:int64:99", "input_ids=32:int64:99"],
    "kyutai_speech_to_text": ["input_ids=32x33:int64:99"], "lxmert": ["input_ids=32:int64:99", "visual_feats=8x2048", "visual_pos=8x4"],
    "musicgen_decoder": ["input_ids=4x32:int64:99"], "musicgen_melody_decoder": ["input_ids=4x32:int64:99"],
    "oneformer": ["pixel_values=3x32x32", "task_inputs=16:int64:99"], "perceiver": ["inputs=64:int64:99"],
    "seamless_m4t": TWO_TEXTS, "seamless_m4t_v2": TWO_TEXTS,
    "seggpt": ["pixel_values=3x32x32", "prompt_pixel_values=3x32x32", "prompt_masks=3x32x32"],
    "speech-encoder-decoder": ["input_values=4000", "decoder_input_ids=16:int64:99"],
    "speecht5": ["input_values=4000", "decoder_input_ids=16:int64:81"],
    "splinter": ["input_ids=32:int64:99", "question_positions=2:int64:32"], "time_series_transformer": SERIES,
    "timesfm": ["past_values=64", "past_values_padding=64:int64:2", "freq=1:int64:3"],
    "trajectory_transformer": ["trajectories=25:int64:100"],
    "udop": ["input_ids=32:int64:99", "bbox=32x4"], "wav2vec2-bert": ["input_features=64x160"],
    "vision-encoder-decoder": ["pixel_values=3x32x32", "decoder_input_ids=32:int64:99"],
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
            arguments = {"depth": 2} if re.search("vit_.*[0-9]m$|(beit|samvit|naflexvit)_base", name) else {}
            arguments |= {"img_size": 256} if "samvit" in name else {}
            command = [f"timm:{name}", "--args", json.dumps(arguments)]
            yield name, family, [[*command, *inputs([one])] for one in ("3x64x64", "3x224x224")] + [command]


def classes_of_transformers():
    """Returns the name of one class for each kind of configuration."""
    lists = importlib.import_module("transformers.models.auto.modeling_auto")
    found = {}
    for mapping in [f"MODEL_FOR_{head}_MAPPING_NAMES" for head in HEADS] + ["MODEL_MAPPING_NAMES"]:
        for kind, name in getattr(lists, mapping).items():
            found.setdefault(kind, name if isinstance(name, str) else name[0])
    return dict(sorted(found.items()))


def reduced_part(config, drops):
    """Returns a part of a configuration, reduced: what it has to be given besides is its difference from its class's default."""
    settable = inspect.signature(type(config).__init__).parameters
    of_layers = ("layer_types", "out_features", "out_indices")
    found = {name: value for name, value in config.to_diff_dict().items() if name in settable and name not in of_layers}
    found |= {"model_type": config.model_type} | reduced(config, drops, is_part=True)
    places = getattr(config, "out_indices", None) or ()
    if len(places) > 1:  # of a backbone: the outputs that its head takes
        found["out_indices"] = list(range(1, len(places) + 1)) if "num_hidden_layers" in settable else list(places)
        found |= {"num_hidden_layers": len(places)} if "num_hidden_layers" in settable else {}
    return found


def reduced(config, drops, is_part=False):
    """Returns what a configuration of transformers has to be given for a small model; without `drops` one without dropout."""
    found = {}
    settable = inspect.signature(type(config).__init__).parameters  # other attributes follow from these
    for name, value in vars(config).items():
        size = next((size for pattern, size in REDUCED if re.fullmatch(pattern, name)), None)
        if hasattr(value, "to_diff_dict"):
            found[name] = reduced_part(value, drops)
        elif isinstance(value, bool) or value is None or name not in settable:
            continue
        elif isinstance(value, int) and size:
            found[name] = min(value, size)
        elif isinstance(value, int) and name.endswith("_token_id") and value >= 99:
            found[name] = 3
        elif isinstance(value, float) and (re.search("layer_?drop|mask_.*_prob", name) or not drops and re.fullmatch(DROPS, name)):
            found[name] = 0.0  # a rate of layer drop cannot be exported; masks of audio draw from NumPy's generator
        elif isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value):
            if re.search(r"depths|num_blocks|(^|num.*_)layers$|layer_nums|repeats", name):
                found[name] = [1] * len(value)
            elif name.endswith("heads"):
                found[name] = [min(one, 2) for one in value]
            elif re.search("hidden_sizes|dims?$|encoder_hidden|channels$|widths", name) and max(value) > 64:
                factor = max(value) / 64
                found[name] = [max(16, 16 * round(one / factor / 16)) for one in value]
    known = {"use_pretrained_backbone": False, "apply_spec_augment": False, "use_cache": False, "use_mamba_kernels": False}
    found |= {name: value for name, value in known.items() if hasattr(config, name)}
    if config.is_encoder_decoder:  # the decoder's input follows from the labels only with these
        found |= {name: 0 for name in ("decoder_start_token_id", "pad_token_id") if getattr(config, name) is None}
    found = {name: value for name, value in found.items() if is_part or value != getattr(config, name)}
    return {name: value for name, value in (found | FURTHER.get(config.model_type, {})).items() if value is not None}


def arguments_of_transformers(name, drops):
    """Returns the arguments of export_model.py for a class, at a reduced size: with its own loss, if it has one, or without."""
    cls = getattr(importlib.import_module("transformers"), name)
    kind = cls.config_class.model_type
    config = COMPOSED[kind] if kind in COMPOSED else reduced(cls.config_class(), drops)
    command = [f"transformers:{name}", "--config", json.dumps(config), *inputs(INPUTS.get(kind, []))]
    has_loss = "labels" in inspect.signature(cls.forward).parameters
    return [[*command, "--loss-from-model"], command] if has_loss else [command]


def of_transformers():
    """Yields (name, family, None) of each kind of configuration; arguments_of_transformers() gives the arguments."""
    for kind, name in classes_of_transformers().items():
        yield name, kind, None


LIBRARIES = {"torchvision": of_torchvision, "timm": of_timm, "transformers": of_transformers}
