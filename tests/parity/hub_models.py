"""Models of transformers with random weights and small configurations. export_model.py saves each by one command, and
PyTorch's Python trains the unchanged classes."""

import functools
import json

CONFIGS = {
    "GPT2LMHeadModel": {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 61, "n_positions": 24},
    "LlamaForCausalLM": {
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "hidden_size": 16,
        "intermediate_size": 32, "vocab_size": 61, "max_position_embeddings": 24,
    },
    "BertForSequenceClassification": {
        "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32, "vocab_size": 61,
        "max_position_embeddings": 24, "num_labels": 4,
    },
    "T5ForConditionalGeneration": {
        "num_layers": 2, "num_heads": 2, "d_model": 16, "d_kv": 8, "d_ff": 32, "vocab_size": 61,
        "decoder_start_token_id": 0,
    },
    "ViTForImageClassification": {
        "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32, "image_size": 16,
        "patch_size": 8, "num_labels": 4,
    },
}  # fmt: skip
# The keywords of forward, and the arguments of export_model.py; a sequence of any length for `generate`.
CAUSAL = (["input_ids"], ["--input", "1-24:int64:61"])
INPUTS = {
    "GPT2LMHeadModel": CAUSAL,
    "LlamaForCausalLM": CAUSAL,
    "BertForSequenceClassification": (
        ["input_ids", "attention_mask"], ["--input", "12:int64:61", "--input", "attention_mask=12:int64:2"]
    ),
    "T5ForConditionalGeneration": (["input_ids"], ["--input", "12:int64:61"]),
    "ViTForImageClassification": (["pixel_values"], ["--input", "3x16x16"]),
}  # fmt: skip
TARGETS = {
    "GPT2LMHeadModel": "1-24:int64:61",
    "LlamaForCausalLM": "1-24:int64:61",
    "BertForSequenceClassification": "scalar:int64:4",
    "T5ForConditionalGeneration": "8:int64:61",
    "ViTForImageClassification": "scalar:int64:4",
}
LOSS = "-loss"  # ends the names of the exports of models that compute their loss


def command(name):
    """The arguments of export_model.py but for the file."""
    model = name.removesuffix(LOSS)
    loss = ["--loss-from-model", "--target", TARGETS[model]] if name.endswith(LOSS) else []
    return [f"transformers:{model}", "--config", json.dumps(CONFIGS[model]), *INPUTS[model][1], *loss]


def make(name):
    """The model with random weights; its forward takes the inputs, then the labels, by position."""
    import transformers  # takes seconds

    cls = getattr(transformers, name.removesuffix(LOSS))
    model = cls(cls.config_class(**CONFIGS[cls.__name__]))
    names = [*INPUTS[cls.__name__][0], "labels"]
    model.forward = lambda *inputs: without_others(functools.partial(cls.forward, model)(**dict(zip(names, inputs))))
    return model


def without_others(outputs):
    """DDP needs a parameter for each output that it is to watch; a cache is none."""
    return {name: outputs[name] for name in ("loss", "logits") if name in outputs}
