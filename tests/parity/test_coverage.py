"""Twelve of the public models that scripts/coverage tries train with Python's bits, and one with experts that get no tokens."""

import json
import os
import sys
import tempfile

import coverage

MODELS = ["mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1", "gmlp_ti16_224", "xcit_nano_12_p8_224", "ghostnet_050",
          "BertLMHeadModel", "GPT2LMHeadModel", "T5ForConditionalGeneration", "BartForCausalLM", "Wav2Vec2ForCTC",
          "ViTForImageClassification"]  # fmt: skip
EXPERTS = {"vocab_size": 99, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
           "num_key_value_heads": 2, "num_local_experts": 32, "num_experts_per_tok": 2}  # fmt: skip

with tempfile.TemporaryDirectory(prefix="ddp-exp-coverage-") as scratch:
    results = os.path.join(scratch, "results.jsonl")
    sys.argv = ["coverage.py", "--results", results, "--only", *MODELS]
    coverage.main()
    with open(results) as file:
        found = {one["name"]: one["status"] for one in map(json.loads, file)}
assert found == dict.fromkeys(MODELS, "same"), found

# Python gives an expert without tokens no gradient. Its SGD with momentum fails if some parameters never had one.
coverage.OPTIMIZER = {"name": "adamw", "lr": 0.01}
few_tokens = ["--config", json.dumps(EXPERTS), "--input", "input_ids=3:int64:99", "--loss-from-model"]
found = coverage.check("transformers", "Mixtral", "mixtral", [["transformers:MixtralForCausalLM", *few_tokens]], True)
assert found["status"] == "same" and found["unused"], found
