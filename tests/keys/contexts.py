"""Where each key of an experiment matters: the table of test_every_key_matters.py.

A component that needs no options, and a value that the schema gives, need no entry here."""

import json

import made

GPUS = {"tf32": True, "deterministic": True}  # act on GPUs alone: here they change nothing
REFUSED = {"grace": 0}  # bounds a wait: nothing changes unless something hangs; a bad value is refused

ONE = {"name": "e", "device_pool": ["cpu"], "parallel": "single", "threads": 1, "batch_size": 8, "epochs": 2,
       "log": {"tensorboard": False}, "optimizer": {"name": "sgd", "lr": 0.1}, "loss": "cross_entropy"}  # fmt: skip
MLP, GPT = {"name": "mlp", "hidden": [4]}, {"name": "gpt", "n_layer": 1, "n_head": 1, "n_embd": 4}
SPLIT, RANKS = {"split": 0.25}, {"parallel": "ddp", "device_pool": ["cpu", "cpu"]}


def net(outputs, *layers):
    """A model whose head takes samples of any shape, so that an option of a layer or a transform may change it."""
    head = [{"type": "Flatten"}, {"type": "Unflatten", "dim": 1, "unflattened_size": [1, -1]}, {"type": "AdaptiveAvgPool1d",
            "output_size": 6}, {"type": "Flatten"}, {"type": "Linear", "in_features": 6, "out_features": outputs}]  # fmt: skip
    return {"name": "sequential", "layers": [*layers, *head]}


def arrays(inputs, targets="y.npy", loss="cross_entropy", model=MLP, **more):
    data = {"name": "npy", "inputs": f"{inputs}.npy", "targets": targets}
    return ONE | {"dataset": data, "loss": loss, "model": model, "validation": SPLIT} | more


def of(name, model, **options):
    return ONE | {"dataset": {"name": name} | options, "model": model}


TABLE = of("csv", MLP, path="rows.csv", target="t", drop=["city"])
PARTS = of("parquet", MLP, path=["rows.parquet", "more.parquet", "two.parquet"], target="t", drop=["city"])
FLAT, REALS, TWO = arrays("flat"), arrays("flat", "reals.npy", "mse"), arrays("flat") | RANKS
CIFAR = of("cifar10", net(10), path="cifar10")
PIXELS = of("image_folder", net(3), path="pngs")
TEXT = of("text", GPT, path="words.txt", block_size=4) | {"epochs": None, "steps": 3}
PYTHON = {"name": "exported", "path": "net.pt2"}
BATCHES = of("random_batch", {"name": "toy"}) | {"epochs": None, "steps": 3, "loss": "mse"}
SWEPT = FLAT | {"sweep": {"parameters": {"optimizer.lr": [0.1, 0.01, 0.5]}}}
CONSTANT, LINEAR = {"name": "constant"}, {"name": "linear", "in_features": 4, "out_features": 3}
OTHER = {"name": "npz", "path": "arrays2.npz", "inputs": "x", "targets": "y"}  # another dataset that fits
# The experiment of each kind of component, and what stands in a component's place in the pair of its name.
KINDS = {
    "model": (FLAT, LINEAR), "layers": (arrays("rows"), {"type": "Identity"}), "dataset": (FLAT, OTHER), "mix": (CIFAR, None),
    "transforms": (CIFAR, None), "loss": (REALS, {"name": "mse"}), "scheduler": (FLAT, CONSTANT),
    # The last bits of a fused kernel differ only here and there: that takes many weights.
    "optimizer": (FLAT | {"model": {"name": "mlp", "hidden": [64]}}, {"name": "sgd", "lr": 0.02})}  # fmt: skip
PLACES = {"layers": "model.layers.0", "transforms": "dataset.transforms.0", "mix": "dataset.mix.0"}
# Other values of options of any component.
VALUES = {
    "warmup_steps": [3], "warmup": ["50%"], "eps": [0.01], "betas": [[0.8, 0.9]], "fill": [100], "stride": [2], "groups": [3],
    "dim": [1], "num_classes": [11], "center": [[0, 0]], "brightness": [0.3], "contrast": [0.3], "saturation": [0.3], "hue": [0.3],
    "p": [0.9], "transforms": [[{"type": "RandomHorizontalFlip"}]], "mix": [[{"type": "MixUp"}]], "in_features": [5],
    "out_features": [4], "layers": [["2", "0"]]}  # fmt: skip
# Options that matter only beside others.
ALONE = {
    "padding_mode": {"padding": 4}, "fill": {"padding": 4}, "count_include_pad": {"padding": 1}, "ceil_mode": {"kernel_size": 4},
    "output_padding": {"stride": 2}, "pad_if_needed": {"size": 40}, "max_size": {"size": None, "max_size": 20},
    "expand": {"degrees": [45, 45]}, "dampening": {"momentum": 0.9}, "nesterov": {"momentum": 0.9},
    "fused": {"momentum": 0.9, "weight_decay": 0.1}, "decoupled_weight_decay": {"weight_decay": 0.1}}  # fmt: skip
LAYERED = {"layers": ["0", "2"], "layer_decay": 0.5}  # of each optimizer; one needs the other
# Options of which the data, or models without batch norms, allow one value: another one is refused.
FIXED = ("in_features", "in_channels", "num_features", "num_channels", "image_size", "sync_batch_norm")
SYNCED = {"exits": {"sync_batch_norm": (0, 0)}, "alone": {"sync_batch_norm": {f"^{k}": v for k, v in RANKS.items()} | {"^batch_size": 3}}}


def c(base=None, swap=None, others=None, alone=None, exits=None, after=(), **options):
    """A component: its experiment and what stands in its place, if not those of its kind; other values of its options;
    the settings beside which alone an option matters; exit codes of a pair (a dict: by value); layers after it."""
    return {"base": base, "swap": swap, "others": others or {}, "alone": alone or {}, "exits": exits or {}, "after": after,
            "options": options}  # fmt: skip


def table(ending, exits=None, others=None, alone=None):
    more = {"path": [f"more.{ending}"], "target": ["d"], "features": [["a", "b"]], "drop": [["city", "a"]],
            "categories": [{"city": ["x", "y"]}], "classes": [[2, 1, 0]], "weights": ["w"], "positive": [0],
            "dates": [["city"]], "date_format": ["%d.%m.%Y"]}  # fmt: skip
    named, gaps = {"drop": None, "categories": ["city"]}, {"path": f"gaps.{ending}", "missing": "mean"}
    beside = {"categories": named, "normalise_targets": {"target": "y", "^loss": "mse"}, "missing": gaps,
              "missing_indicator": gaps, "missing_categories": named | {"path": f"blank.{ending}"}, "encode": named,
              "target_transform": {"target": "w", "^loss": "mse"}, "positive": {"path": f"two.{ending}", "^metrics": ["precision"], "^validation": SPLIT},
              "dates": {"path": f"dated.{ending}", "drop": None},
              "date_format": {"path": f"dated.{ending}", "drop": None, "dates": ["city"]}}  # fmt: skip
    refused = {"missing": {'"error"': 2}, "encode": (0, 2), "dates": (2, 0), "date_format": (0, 2)}
    return c(TABLE, None, more | (others or {}), beside | (alone or {}), refused | (exits or {}),
             path=f"rows.{ending}", target="t", drop=["city"])  # fmt: skip


def stored(ending, swap):
    return c(None, swap, {"path": [f"arrays2.{ending}"], "inputs": ["x2"], "targets": ["y2"], "weights": ["w"], "scale": [0.5]},
             path=f"arrays.{ending}", inputs="x", targets="y")  # fmt: skip


def files(bad, others, **options):
    return c(PIXELS, None, others, {"on_bad": {"path": bad, "on_bad": "skip"}}, {"on_bad": {'"error"': 1}}, **options)


RESNET = c(CIFAR | {"epochs": None, "steps": 1, "batch_size": 2}, net(10)) | SYNCED
NORMED = net(3, {"type": "BatchNorm1d", "num_features": 4})["layers"]
SOFTMAX = [{"type": "Softmax"}]
CONV = c(in_channels=3, out_channels=3, kernel_size=3)
COMPONENTS = {
    "model": {
        "exported": c(others={"path": ["other.pt2"], "eval": ["squashed.pt2"], "predict": ["net.pt2"]},
                      alone={"predict": {"path": "whole.pt2", "^loss": "model"}}, path="net.pt2"),
        "gpt": c(TEXT, {"name": "sequential", "layers": [{"type": "Embedding", "num_embeddings": 20, "embedding_dim": 20}]},
                 {"n_head": [2], "block_size": [8], "vocab_size": [20]}, n_layer=1, n_head=1, n_embd=4),
        "head_tail": c(of("counting", {}, size=24, features=32), LINEAR | {"in_features": 32, "out_features": 10}),
        "linear": c(swap=MLP, in_features=4, out_features=3), "mlp": c(others={"hidden": [[5]]}, hidden=[4]),
        "resnet18": RESNET, "resnet34": RESNET, "resnet50": RESNET, "resnet101": RESNET, "resnet152": RESNET,
        "sequential": c(None, None, {"layers": [net(3)["layers"]]}, {"sync_batch_norm": SYNCED["alone"]["sync_batch_norm"] |
                        {"layers": NORMED}}, SYNCED["exits"], layers=net(3, {"type": "Tanh"})["layers"]),
        "toy": c(BATCHES, MLP), "toy_mp": c(BATCHES, MLP),
        "vit": c(CIFAR, net(10), {"image_size": [16], "patch_size": [8], "num_heads": [2]}, patch_size=16, num_layers=1,
                 num_heads=1, hidden_dim=4, mlp_dim=4),
    },
    "layers": {
        "AdaptiveAvgPool1d": c(output_size=5), "AdaptiveAvgPool2d": c(output_size=3), "Conv1d": CONV, "Conv2d": CONV,
        "AvgPool1d": c(kernel_size=3), "AvgPool2d": c(kernel_size=3), "MaxPool1d": c(kernel_size=3), "MaxPool2d": c(kernel_size=3),
        "BatchNorm1d": c(num_features=3), "BatchNorm2d": c(num_features=3), "Identity": c(swap={"type": "Tanh"}),
        "ConvTranspose2d": CONV | {"others": {"padding_mode": ["reflect"]}, "exits": {"padding_mode": (0, 2)},
                                   "alone": {"padding_mode": {}}},
        "Embedding": c(arrays("indices"), None, {"padding_idx": [0]}, exits={"": (0, 2)}, num_embeddings=6, embedding_dim=2),
        "Flatten": c(arrays("series"), None, {"start_dim": [2], "end_dim": [1]}, after=SOFTMAX),
        "GroupNorm": c(arrays("maps"), None, {"num_groups": [3]}, num_groups=1, num_channels=3),
        "LayerNorm": c(arrays("series"), None, {"normalized_shape": [[3, 10]]}, normalized_shape=[10]),
        "Linear": c(in_features=8, out_features=5), "LogSoftmax": c(arrays("series")), "Softmax": c(arrays("series")),
        "Unflatten": c(arrays("maps"), None, {"dim": [2], "unflattened_size": [[3, 2]]}, after=SOFTMAX, dim=3, unflattened_size=[2, 3]),
    },
    "dataset": {
        "cifar10": c(CIFAR, None, {"path": ["cifar10b"]}, path="cifar10"),
        "cifar100": c(CIFAR | {"model": net(100)}, None, {"path": ["cifar100b"]}, path="cifar100"),
        "counting": c(FLAT | {"model": net(4)}, size=24, features=4, classes=3), "jsonl": table("jsonl"), "parquet": table("parquet"),
        "csv": table("csv", {name: (2, 0) for name in ("delimiter", "header", "decimal", "thousands")},
                     {"delimiter": [";"], "thousands": ["."], "missing_values": [["", "x"]]},
                     {"delimiter": {"path": "semicolon.csv"}, "decimal": {"path": "comma.csv", "delimiter": ";"},
                      "thousands": {"path": "thousands.csv", "delimiter": ";", "decimal": ","}, "missing_values": {"drop": None, "categories": ["city"]},
                      "header": {"path": "bare.csv", "target": "6", "drop": ["0"]}}),
        "digits": c(None, None, {"path": ["digits2.csv.gz"]}, path="digits.csv.gz"),
        "idx": c(PIXELS, None, {"images": ["others.idx"], "labels": ["others.labels"]}, images="images.idx", labels="images.labels"),
        "image_folder": files("bad_pngs", {"path": ["other_pngs"]}, path="pngs"),
        "tar": files("bad_pngs.tar", {"path": ["other_pngs.tar"], "image": ["b.png"], "target": ["cls2"]}, path="pngs.tar"),
        "npy": c(None, None, {"inputs": ["tiny.npy"], "targets": ["y2.npy"], "weights": ["w.npy"], "scale": [0.5]},
                 inputs="flat.npy", targets="y.npy"),
        "npz": stored("npz", OTHER | {"name": "safetensors", "path": "arrays2.safetensors"}), "safetensors": stored("safetensors", OTHER),
        "random_batch": c(BATCHES | {"model": MLP}, {"name": "random_pairs", "features": 10, "targets": 5}, {"keep": [8]}),
        "random_pairs": c(REALS, {"name": "random_batch"}, exits={"": (0, 2)}, size=24),
        "text": c(TEXT, {"name": "tokens", "path": "words.bin", "block_size": 4}, {"path": ["words2.txt"], "tokenizer": ["byte"]},
                  path="words.txt", block_size=4),
        "tokens": c(TEXT, TEXT["dataset"], {"path": ["words2.bin"]}, path="words.bin", block_size=4),
    },
    "transforms": {
        "CenterCrop": c(size=20), "ColorJitter": c(brightness=0.1), "Pad": c(padding=2),
        "GaussianBlur": c(others={"kernel_size": [5], "sigma": [[1.5, 2.0]]}, kernel_size=3),
        "Grayscale": c(others={"num_output_channels": [3]}),
        "Normalize": c(others={"mean": [[0.1, 0.2, 0.3]], "std": [[0.5, 0.6, 0.7]]}, mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2]),
        "RandomAffine": c(others={"translate": [[0.2, 0.2]], "scale": [[0.5, 0.9]], "shear": [20]}, degrees=30),
        "RandomCrop": c(others={"padding": [4]}, exits={"pad_if_needed": (2, 0)}, size=24),
        "RandomErasing": c(others={"scale": [[0.3, 0.4]], "ratio": [[1.0, 2.0]], "value": [0.5, "random"]}),
        "RandomResizedCrop": c(others={"scale": [[0.5, 0.6]], "ratio": [[0.5, 0.6]]}, size=16),
        "RandomRotation": c(degrees=30), "Resize": c(size=16),
    },
    "loss": {
        "bce_with_logits": c(arrays("flat", "labels.npy"), None, {"pos_weight": [2.0]}),
        "cross_entropy": c(FLAT, {"name": "nll"}, {"ignore_index": [0], "weight": [[1, 2, 3], "balanced"]}),
        "exported": c(TWO | {"model": PYTHON}, {"name": "cross_entropy"}, {"path": ["double.pt2"], "eval": ["double.pt2"]}, path="loss.pt2"),
        "model": c(FLAT | {"model": PYTHON | {"path": "whole.pt2"}}, {"name": "cross_entropy"}, exits={"": (0, 2)}),
        "mse": c(swap={"name": "l1"}), "nll": c(FLAT, {"name": "cross_entropy"}),
    },
    "optimizer": {
        "adafactor": c(others={"d": [2.0], "eps": [[0.1, 0.1]]}), "sgd": c(swap={"name": "adam", "lr": 0.02}),
        "muon": c(FLAT | {"model": {"name": "sequential", "layers": [
            {"type": "Linear", "in_features": 4, "out_features": 4, "bias": False}, {"type": "ReLU"},
            {"type": "Linear", "in_features": 4, "out_features": 3, "bias": False}]}}, None,
                  {"ns_coefficients": [[3, -4, 2]], "eps": [10]}),
    },
    "scheduler": {
        "constant": c(swap={"name": "linear"}), "cosine_restarts": c(period=2), "exponential": c(gamma=0.9), "step": c(step_size=2),
        "multistep": c(others={"milestones": [[3]]}, milestones=[2]), "onecycle": c(others={"max_lr": [0.2]}),
        "plateau": c(REALS | {"epochs": 6}, None, {"metric": ["val_loss"], "eps": [0.05], "min_lr": [0.05], "threshold": [0.001],
                     "goal": ["", "min"]}, {"goal": {"goal": "max", "threshold": 0.001}}, patience=0, threshold=0.02, metric="train_loss"),
        "wsd": c(others={"decay": ["30%"]}, decay="60%"),
    },
    "mix": {},
}  # fmt: skip


def put(experiment, path, value):
    """A copy of the experiment with another value at a path such as model.layers.0.bias; None takes it away."""
    copied = at = json.loads(json.dumps(experiment))  # experiments of the table share parts
    *names, last = (int(name) if name.isdigit() else name for name in path.split("."))
    for name in names:
        if isinstance(at, dict) and not isinstance(at.get(name), (dict, list)):
            at[name] = {}
        at = at[name]
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return copied


def on(base, *others, was=None, **more):
    """A key's context: its experiment, the other values, the value of the experiment; `more`: see rows_of()"""
    return {"base": base, "others": list(others), "was": was} | more


def swept(*others, was=None, base=SWEPT, exits=(0, 0), **more):
    return on(base | {"sweep": SWEPT["sweep"] | more}, *others, was=was, command="sweep --jobs 1", exits=exits,
              kinds=["weights", "state", "events", "files", "summary"])  # fmt: skip


def each(*names):
    return [[name] for name in names]


OF_CLASSES = ["accuracy", "auroc", "average_precision", "balanced_accuracy", "brier", "ece", "f1_macro", "f1_micro", "log_loss",
              "mcc", "perplexity", "precision_macro", "recall_macro"]  # fmt: skip
OF_TWO, OF_NUMBERS = ["f1", "precision", "recall"], ["explained_variance", "mae", "mape", "median_absolute_error", "mse", "r2", "rmse"]
BEST = FLAT | {"metrics": OF_CLASSES, "epochs": 5}
BINARY = of("csv", MLP, path="two.csv", target="t", drop=["city"]) | {"metrics": OF_TWO, "epochs": 5, "validation": SPLIT}
NUMBERED = REALS | {"metrics": OF_NUMBERS, "epochs": 5}
CLASSES, PAIR, REALNESS = (["val_" + name for name in names] for names in (["loss", *OF_CLASSES], OF_TWO, OF_NUMBERS))
FOLDED = TABLE | {"validation": None, "folds": {"k": 4, "fold": 0}}
BACKEND = on(TWO, "auto", "shm", "nccl", was="gloo", fails={'"nccl"': 2})
ALL = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
WEIGHTS = {"path": "first.safetensors", "skip": ["2.*", "*.bias"], "rename": {"old.": ""}}
OF_WEIGHTS, SCALED = FLAT | {"init_from": WEIGHTS}, FLAT | {"groups": [{"match": "*.bias", "lr_scale": 0.5}]}
HELD, PATIENT = TABLE | {"validation": SPLIT, "test": SPLIT}, {"stop": {"patience": 3}}
KEYS = {
    "name": on(FLAT, "f"), "steps": on(FLAT | {"epochs": None}, was=4), "global_batch_size": on(FLAT | {"batch_size": None}, was=8),
    "threads": on(of("counting", MLP | {"hidden": [64], "out_features": 10}, size=8192, features=64) | {"batch_size": 4096}),
    "sources": on(FLAT, ["broken.cpp"], exits=(0, 2)), "logical_ranks": on(FLAT | {"parallel": "ddp"}, 2),
    "flush_denormal": on(arrays("tiny", "reals.npy", "mse", optimizer={"name": "sgd", "lr": 0.1, "momentum": 0.9})),
    "channels_last": on(arrays("maps", model=net(3, {"type": "Conv2d"} | CONV["options"]))),
    "clip.norm": on(FLAT, 0.01), "clip.value": on(FLAT, 0.001), "ema.decay": on(FLAT, was=0.9), "ema.every": on(FLAT, 2, 0, was=1),
    "freeze": on(FLAT, ["0.*"]), "groups": on(FLAT, SCALED["groups"]), "groups.match": on(SCALED, "*.weight", ["ndim<2", "0.*"]),
    "groups.lr_scale": on(SCALED), "groups.optimizer": on(FLAT | {"groups": [{"match": "*.bias"}]}, "adam", "lion"),
    "metrics": [on(FLAT, *each(*OF_CLASSES[1:], "confusion", "top2"), [], was=["accuracy"]), on(REALS, *each(*OF_NUMBERS)),
                on(BINARY, *each(*OF_TWO), was=["accuracy"])],
    "validation.last": on(TABLE | {"validation": {"last": 0.5}}, 0.25, was=0.5),
    "validation.order": on(TABLE | {"validation": {"last": 0.25}}, "a"),
    "folds.k": on(FOLDED, 3, was=4), "folds.seed": on(FOLDED, 1), "folds.stratify": on(FOLDED, True), "folds.by": on(FOLDED | {"folds": {"k": 3, "fold": 0}}, "city"),
    "folds.order": on(FOLDED, "a"), "folds.gap": on(FOLDED | {"folds": {"k": 2, "fold": 0, "order": "a"}}, 2),
    "folds.fold": on(FOLDED, 1, was=0), "folds.repeat": on(FOLDED | {"folds": {"k": 4, "fold": 0, "repeats": 2}}, 1),
    "folds.repeats": on(FOLDED | {"folds": {"k": 2}}, 2, command="cv --jobs 1"),
    "repeat.seeds": on(FLAT | {"repeat": {"seeds": 1}}, 2, [5], was=1, command="cv --jobs 1"),
    "repeat.vary": on(FLAT | {"repeat": {"seeds": 2}}, ["seed"], command="cv --jobs 1"),
    "decide.threshold": on(BINARY, "f1", "balanced_accuracy", 0.3), "decide.calibrate": on(BINARY, "temperature", "isotonic"),
    "loader.sample": [on(FLAT, "balanced"), on(put(TABLE, "dataset.weights", "w"), "weighted")],
    "on_nan": on(arrays("broken"), was="skip", fails={'"stop"': 1}), "replay": on(FLAT | {"epochs": 6}, "auto", "require", was="off"),
    "device_pool": on(TWO, ["cpu"], 3), "parallel": [on(TWO, "data_parallel"), on(FLAT, "ddp")],
    "devices_per_rank": on(BATCHES | RANKS | {"model": {"name": "toy_mp"}}, 2, was=1),
    "init_from": on(FLAT, WEIGHTS), "init_from.path": on(OF_WEIGHTS, "second.safetensors"), "init_from.skip": on(OF_WEIGHTS, ["*"]),
    "init_from.rename": on(OF_WEIGHTS, {}, exits=(0, 2)), "distributed.backend": BACKEND, "backend": BACKEND,
    "distributed.init_method": on(FLAT | {"parallel": "ddp"}, "file://@", exits=(2, 0), environment={"RANK": "0", "WORLD_SIZE": "1"}),
    "distributed.timeout": on(TWO | {"distributed": {"init_method": "file://@"}}, 0.5, was=0.2, environment=ALL, exits=(1, 1)),
    "distributed.bucket_cap_mb": on(FLAT | {"parallel": "ddp", "device_pool": ["cpu"] * 3, "backend": "gloo",
                                            "model": MLP | {"hidden": [64, 64]}}, 0.001),
    "distributed.find_unused_parameters": on(FLAT | {"parallel": "ddp", "model": PYTHON | {"path": "unused.pt2"}}, True, exits=(2, 0)),
    "distributed.static_graph": on(TWO, True), "distributed.gradient_as_bucket_view": on(TWO, False),
    "distributed.broadcast_buffers": on(arrays("rows", model=net(3, {"type": "BatchNorm1d", "num_features": 8})) | RANKS |
                                        {"batch_size": 3}, False),
    "distributed.shard": on(TWO, "none", "auto", was="optimizer"), "loader.drop_last": on(TWO | {"validation": {"split": 0.3}}, True),
    "loader.cache": on(of("csv", MLP, path=made.URL, target="t"), "9B", exits=(0, 2)),
    "loader.stream": on(PARTS, True), "loader.window": on(PARTS | {"loader": {"stream": True}}, 1),
    "loader.retries": on(of("csv", MLP, path="http://127.0.0.1:9/t.csv", target="t"), 1, was=0, exits=(2, 2)),
    "loader.workers": on(PIXELS | {"epochs": 200}, 48, was=0, watch=True, kinds=["threads"]), "extends": on(FLAT, "part.toml"),
    "validation.dataset": on(TABLE, {"path": "more.csv"}), "test.dataset": on(TABLE, {"path": "more.csv"}),
    "validation.batch_size": on(FLAT, 1), "test.batch_size": on(REALS | {"test": SPLIT}, 1), "validation.split": on(HELD, 0.3),
    "test.split": on(HELD, 0.3), "validation.stratify": on(HELD, True), "test.stratify": on(HELD, True),
    "validation.by": on(TABLE | {"validation": SPLIT}, "city"), "test.by": on(TABLE | {"test": SPLIT}, "city"),
    "validation.every": on(FLAT, 2, "1 steps"), "validation.known_rows": on(FLAT, [12]), "validation.seed": on(HELD),
    "test.seed": on(HELD, 1, "validation"), "checkpoint.save_every": on(FLAT | {"epochs": 4}, 2),
    "save_every": on(FLAT | {"epochs": 4}, 2), "checkpoint.save_every_steps": on(FLAT, 2),
    # A save by the clock waits for the one before it: a run of few steps can end first.
    "checkpoint.save_every_minutes": on(FLAT | {"epochs": 100, "checkpoint": {"save_every": 0, "keep_best": 0}}, 1e-9),
    "checkpoint.keep_last": on(FLAT | {"checkpoint": {"save_every_steps": 1}}, 4),
    "checkpoint.ladder": on(FLAT | {"checkpoint": {"save_every_steps": 1}}, True),
    "checkpoint.mirror": on(
        FLAT | {"loader": {"retries": 0}}, "gs://anonymous@bucket/runs?scheme=http&endpoint_override=127.0.0.1:9"
    ),
    "checkpoint.keep_best": on(FLAT | {"epochs": 8, "optimizer": {"name": "sgd", "lr": 1.0}, "checkpoint": {"save_every": 1, "keep_last": 1}}, 0, 3),
    # A file of more bytes than the limit cannot be written: a rehearsal finds out before the first step.
    "checkpoint.rehearse": on(FLAT | {"model": MLP | {"hidden": [4000]}}, True, limit=100_000, exits=(1, 1)),
    "checkpoint.initial_weights": on(FLAT | {"model": PYTHON}, False), "notify.command": on(FLAT, "echo the end"),
    "checkpoint.goal": on(BEST, "", "min", was="max"), "stop.goal": on(BEST | {"stop": {"patience": 1}}, "", "min", was="max"),
    "checkpoint.metric": [on(BEST, *CLASSES, "", was="train_loss"), on(NUMBERED, *REALNESS, was="train_loss"),
                          on(BINARY, *PAIR, was="train_loss")],
    "stop.metric": [on(BEST | PATIENT, *CLASSES, "", was="train_loss"), on(NUMBERED | PATIENT, *REALNESS, was="train_loss"),
                    on(BINARY | PATIENT, *PAIR, was="train_loss")],
    "stop.patience": on(BEST, 1), "stop.min_delta": on(BEST | {"stop": {"patience": 1}}, 10.0), "log.tensorboard": on(FLAT, was=False),
    # Without the key these runs would never end.
    "stop.max_time": on(BATCHES | {"steps": 10**9, "log": {"every": 10**9}}, "2s", was="1s"),
    "sweep.method": swept("random", "asha", "tpe", was="grid"), "sweep.goal": swept("max", was="min"),
    "sweep.metric": [swept(*CLASSES, was="train_loss", base=BEST), swept(*REALNESS, was="train_loss", base=NUMBERED),
                     swept(*PAIR, was="train_loss", base=BINARY)],
    "sweep.parameters": swept({"optimizer.lr": [0.1, 0.01]}), "sweep.trials": swept(3, was=2, method="random"),
    "sweep.seed": swept(1, method="random", trials=2), "sweep.min_epochs": swept(2, method="asha", trials=2),
    "sweep.max_epochs": swept(3, was=2, method="asha", trials=4, reduction_factor=2),
    "sweep.reduction_factor": swept(2, method="asha", trials=4), "sweep.retries": swept(1, base=arrays("broken"), exits=(1, 1)),
}  # fmt: skip
# Experiments that must run twice to the same: otherwise a difference would prove nothing.
REPEATED = {"flat": FLAT, "two ranks": TWO, "table": TABLE, "images": CIFAR, "text": TEXT, "numbers": NUMBERED, "sweep": SWEPT}
# A sweep prints times of many kinds, and without a GPU a warning names its keys.
MAY_DIFFER = {("words", name) for name in ("sweep", *GPUS)}


def value_at(experiment, path):
    for name in path.split("."):
        experiment = experiment[int(name)] if name.isdigit() else experiment.get(name) if isinstance(experiment, dict) else None
    return experiment


def rows_of(key, schema):
    """The rows of a key, or of a component KIND=NAME: `base` and `path`; `others`, the values there; `exits`, the exit codes;
    `fails`, exit codes by value; `kinds`: the differences that count; `command`, `environment`, `watch`, `limit`: how it
    runs; `default`, the schema that has the default."""
    kind, _, rest = key.partition("=" if "=" in key else ".")
    if kind in COMPONENTS:
        return [row_of_component(kind, *(rest, "") if "=" in key else rest.split(".", 1), schema)]
    if kind == "groups" and key not in KEYS:
        name = next(name for name, one in schema.kinds["optimizer"].items() if rest in one["properties"])
        row = row_of_component("optimizer", name, rest, schema)
        group = {"match": "*", "optimizer": name} | {k: v for k, v in row["base"]["optimizer"].items() if k != "name"}
        return [row | {"base": FLAT | {"model": row["base"]["model"], "groups": [group]}, "path": f"groups.0.{rest}",
                       "default": schema.kinds["optimizer"][name]["properties"][rest]}]  # fmt: skip
    rows = KEYS.get(key, on(FLAT))
    place = key.replace("groups.", "groups.0.")
    return [row | {"path": place, "base": put(row["base"], place, row["was"]) if row["was"] is not None else row["base"]}
            for row in (rows if isinstance(rows, list) else [rows])]  # fmt: skip


def row_of_component(kind, name, option, schema):
    row, place = COMPONENTS[kind].get(name) or c(), PLACES.get(kind, kind)
    base, swap = KINDS[kind]
    if kind == "layers" and name[-2:] in ("1d", "2d"):
        base = arrays("series" if name.endswith("1d") else "maps")
    base, swap = row["base"] or base, row["swap"] or swap
    if kind in PLACES:
        part = place.split(".")[0]
        base = base | {part: net(3, {}, *row["after"]) if part == "model" else base[part] | {kind: [{}]}}
    options = ({"lr": 0.02} if kind == "optimizer" else {}) | row["options"]
    options |= LAYERED if kind == "optimizer" and option in LAYERED else {}
    base = put(base, place, {"type" if kind in PLACES else "name": name} | options)
    if not option:
        path, swap = (place, swap) if swap else (place.removesuffix(".0"), [])
        return {"base": base, "path": path, "others": [swap], "exits": row["exits"].get("", (0, 0))}
    known = schema.kinds[kind][name]["properties"]
    for beside, value in row["alone"].get(option, {k: v for k, v in ALONE.get(option, {}).items() if k in known}).items():
        base = put(base, beside[1:] if beside[0] == "^" else f"{place}.{beside}", value)
    exits = row["exits"].get(option, (0, 2) if option in FIXED else (0, 0))
    closed = schema.keys[f"{kind}.{name}.{option}"].get("type") == "boolean"
    others = row["others"].get(option, [] if closed else VALUES.get(option, []))
    return {"base": base, "path": f"{place}.{option}", "others": others, "fails" if isinstance(exits, dict) else "exits": exits}
