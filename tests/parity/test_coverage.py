"""Twelve of the public models that scripts/coverage tries train with Python's bits."""

import json
import os
import sys
import tempfile

import coverage

MODELS = ["mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1", "gmlp_ti16_224", "xcit_nano_12_p8_224", "ghostnet_050",
          "BertLMHeadModel", "GPT2LMHeadModel", "T5ForConditionalGeneration", "BartForCausalLM", "Wav2Vec2ForCTC",
          "ViTForImageClassification"]  # fmt: skip

with tempfile.TemporaryDirectory(prefix="ddp-exp-coverage-") as scratch:
    results = os.path.join(scratch, "results.jsonl")
    sys.argv = ["coverage.py", "--results", results, "--only", *MODELS]
    coverage.main()
    with open(results) as file:
        found = {one["name"]: one["status"] for one in map(json.loads, file)}
assert found == dict.fromkeys(MODELS, "same"), found
