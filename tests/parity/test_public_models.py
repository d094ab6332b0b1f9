"""Models of transformers and timm in four commands: a folder of save_pretrained, or a name, is exported, trained,
measured and asked; and the trained weights give the same answers in their library. Refusals name what is wrong."""

import contextlib
import io
import json
import os
import runpy
import sys
import tempfile

from program import call

import numpy as np
import timm
import torch
import transformers
from safetensors.torch import load_file, save_file

SCRIPT = os.path.join(os.environ["DDP_SOURCE"], "python", "export_model.py")
ROWS, CLASSES = 24, 3
TINY = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32, "vocab_size": 61,
        "max_position_embeddings": 24}  # fmt: skip
CHECKS = []


def check(one):
    CHECKS.append(one)
    return one


def export(*words):
    """Returns what export_model.py says, and its exit status."""
    sys.argv, said = ["export_model.py", *map(str, words)], io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(SCRIPT, run_name="__main__")
        except SystemExit as end:
            return f"{end.code or ''}", bool(end.code)
    return said.getvalue(), False


def train(file, arrays, model, **keys):
    """Trains an experiment for three epochs and returns its run; `arrays`: the dataset, without the targets y."""
    np.savez("data.npz", **arrays)
    names = [name for name in arrays if name != "y"]
    lines = [f'model = {{ name = "exported", path = "{model}", init = "file" }}', 'loss = "cross_entropy"', "epochs = 3",
             f'dataset = {{ name = "npz", path = "data.npz", inputs = {json.dumps(names)}, targets = "y" }}',
             'device_pool = ["cpu", "cpu"]', "batch_size = 4", "validation.split = 0.25"]  # fmt: skip
    lines += [f"{key.replace('__', '.')} = {value}" for key, value in keys.items()]
    with open(file, "w") as out:
        out.write("\n".join(lines) + "\n")
    return call("run", file).strip()


def answers(run, arrays):
    """Returns what eval measures, and the answers of predict."""
    measured = json.loads(call("eval", run, "--json"))
    np.savez("asked.npz", **{name: one for name, one in arrays.items() if name != "y"})
    call("predict", run, "asked.npz", "-o", "answers.npy")
    return measured, np.load("answers.npy")


def require_same(found, expected):
    assert found.shape == tuple(expected.shape), f"{found.shape} instead of {tuple(expected.shape)}"
    gap = np.abs(found - expected.softmax(-1).numpy()).max()  # predict gives probabilities
    assert gap < 1e-5, f"the answers differ by {gap}"


@check
def a_folder_of_transformers():
    torch.manual_seed(3)
    config = transformers.BertConfig(**TINY)
    transformers.BertForMaskedLM(config).save_pretrained("bert")
    said, failed = export("transformers:AutoModelForSequenceClassification", "bert", "--args", json.dumps({"num_labels": CLASSES}))
    assert not failed and said.startswith("bert.pt2: "), said
    first = load_file("bert/model.safetensors")
    draw = np.random.default_rng(1)
    arrays = {"input_ids": draw.integers(0, 61, (ROWS, 12)), "attention_mask": np.ones((ROWS, 12), dtype=np.int64),
              "y": draw.integers(0, CLASSES, ROWS)}  # fmt: skip
    run = train("bert.toml", arrays, "bert.pt2", freeze='["bert.embeddings.*"]', optimizer='{ name = "adamw", lr = 1e-3, layer_decay = 0.5, '
                'layers = ["bert.embeddings", "bert.encoder.layer.*", "bert.pooler|classifier"] }')  # fmt: skip
    measured, found = answers(run, arrays)
    assert "val_loss" in json.dumps(measured), measured
    call("export", run, "trained.safetensors")
    trained = load_file("trained.safetensors")
    frozen = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(trained[frozen], first[frozen]), "the folder's weights are not those of the run"
    config = transformers.AutoConfig.from_pretrained("bert", num_labels=CLASSES)
    config.save_pretrained("back")
    save_file(trained, "back/model.safetensors", metadata={"format": "pt"})
    back = transformers.AutoModelForSequenceClassification.from_pretrained("back").eval()
    with torch.no_grad():
        ids, mask = torch.from_numpy(arrays["input_ids"]), torch.from_numpy(arrays["attention_mask"])
        require_same(found, back(ids, attention_mask=mask).logits)


@check
def a_file_of_timm():
    torch.manual_seed(4)
    save_file(timm.create_model("test_vit", num_classes=7).state_dict(), "vit.safetensors")
    said, failed = export("timm:test_vit", "vit.pt2", "--pretrained", "vit.safetensors", "--args", json.dumps({"num_classes": CLASSES}))
    assert not failed, said
    draw = np.random.default_rng(2)
    arrays = {"x": draw.standard_normal((ROWS, 3, 160, 160), dtype=np.float32), "y": draw.integers(0, CLASSES, ROWS)}
    run = train("vit.toml", arrays, "vit.pt2", freeze='["patch_embed.*"]')
    _, found = answers(run, arrays)
    call("export", run, "vit-trained.safetensors")
    trained = load_file("vit-trained.safetensors")
    assert torch.equal(trained["patch_embed.proj.weight"], load_file("vit.safetensors")["patch_embed.proj.weight"])
    model = timm.create_model("test_vit", num_classes=CLASSES).eval()
    model.load_state_dict(trained)
    with torch.no_grad():
        require_same(found, model(torch.from_numpy(arrays["x"])))


@check
def inputs_and_targets_of_a_configuration():
    text = TINY | {"max_position_embeddings": 64}
    image = {name: TINY[name] for name in TINY if name.startswith(("hidden", "num", "inter"))} | {"image_size": 16, "patch_size": 8}
    xlnet = {"vocab_size": 61, "d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 32}
    for name, config, expected in (
        ("BertForTokenClassification", text, ["input_ids", "attention_mask", "labels"]),
        ("GPTNeoXForCausalLM", text, ["input_ids", "labels"]),
        ("XLNetLMHeadModel", xlnet, ["input_ids", "labels"]),
        ("LayoutLMForSequenceClassification", text, ["input_ids", "bbox", "attention_mask", "labels"]),
        ("BlipForConditionalGeneration", {"text_config": text, "vision_config": image}, ["pixel_values", "input_ids", "labels"]),
    ):
        said, failed = export(f"transformers:{name}", "inputs.pt2", "--config", json.dumps(config), "--loss-from-model")
        assert not failed, said
        arguments = [one["name"] for one in facts("inputs.pt2")["arguments"]]
        assert arguments == expected, f"{name}: {arguments}"


@check
def layer_drop_of_rate_0_is_exported():
    config = {"vocab_size": 61, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 32}  # fmt: skip
    words = ["transformers:BartForConditionalGeneration", "bart.pt2", "--loss-from-model", "--config"]
    said, failed = export(*words, json.dumps(config))
    assert not failed, said
    said, failed = export(*words, json.dumps(config | {"encoder_layerdrop": 0.5}))
    assert failed and "encoder_layerdrop = 0.5" in said and "modeling_bart.py" in said, said


@check
def refusals():
    os.makedirs("empty", exist_ok=True)
    for words, parts in (
        (["timm:resnet19", "m.pt2"], ["resnet19", "did you mean resnet18?"]),
        (["timm:resnet18", "m.pt2", "--pretrained", "none.pth"], ["none.pth", "does not exist"]),
        (["transformers:AutoModel", "empty", "m.pt2"], ["empty", "config.json"]),
        (["transformers:AutoModel", "nowhere", "m.pt2"], ["nowhere is no folder"]),
        (["torch.nn:Identity", "m.pt2"], ["--input is missing"]),
        (["torchvision.models:resnet18", "m.pt2", "--pretrained", "a.pth"], ["--pretrained", "timm"]),
    ):
        said, failed = export(*words)
        assert failed and all(part in said for part in parts), f"{words}: {said}"
        assert not os.path.exists("m.pt2") or os.remove("m.pt2"), words


def facts(path):
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(next(name for name in archive.namelist() if name.endswith("ddp-exp.json"))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    words = sys.argv[1:]  # export() replaces them
    with tempfile.TemporaryDirectory(prefix="ddp-exp-public-") as scratch:
        os.chdir(scratch)
        for one in CHECKS:
            if not words or any(word in one.__name__ for word in words):
                one()
                print(f"fine    {one.__name__}", flush=True)
        os.chdir("/")
