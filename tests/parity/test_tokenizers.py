"""tokenizer.json: ddp-exp's ids and decoded texts are those of the packages tokenizers and tiktoken.

Small tokenizers like GPT-2's, Llama's and Qwen's are trained on this repository. Characters that are newer than
Unicode 14 are left out, and those that the package tokenizers normalizes as in Unicode 9: their tables are of different
versions.
"""

import copy
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEXTS = 10_000
# These get all texts, the others a part.
MAIN = ("GPT-2", "RoBERTa", "Llama 3", "Qwen 2", "Llama 2", "CLIP", "NFKC")
SOURCE = os.environ["DDP_SOURCE"]
PROGRAM = os.environ["DDP_TOKENIZE_TEXTS"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im|>"]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def corpus():
    files = sorted(glob.glob(f"{SOURCE}/docs/*.md") + glob.glob(f"{SOURCE}/tests/parity/*.py"))
    lines = [line for file in files for line in open(file, encoding="utf-8").read().splitlines(keepends=True)]
    draw = random.Random(1)
    # Words of other scripts.
    for first, last in [(0xE0, 0xFF), (0x3B1, 0x3C9), (0x430, 0x44F), (0x4E00, 0x4E80), (0xAC00, 0xAC40), (0x5D0, 0x5EA)]:
        words = ["".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 4))) for _ in range(60)]
        lines += [" ".join(draw.choices(words, k=12)) + "\n" for _ in range(40)]
    return lines


FORMS = {"NFD": normalizers.NFD(), "NFKC": normalizers.NFKC()}


def is_known(character):
    """Has it the same forms in the package as here, alone and between marks of other classes?"""
    texts = [character, *("a" + character + mark for mark in "\u0334\u0323\u0301"), "a\u0345" + character]
    return all(its.normalize_str(text) == unicodedata.normalize(form, text) for form, its in FORMS.items() for text in texts)


ASSIGNED = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs") and is_known(chr(c))]
MARKS = [c for c in ASSIGNED if unicodedata.combining(c)]
CHANGED = [c for c in ASSIGNED if unicodedata.normalize("NFD", c) != c]
RANGES = [(0x20, 0x7E), (0xA0, 0x24F), (0x1100, 0x11FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F64F)]


def texts(lines):
    """Mixtures of the corpus, all planes, marks, emoji, white space, numbers, contractions and added tokens."""
    draw = random.Random(2)
    words = [word for line in lines for word in line.split(" ")]

    def from_range():
        first, last = draw.choice(RANGES)
        return "".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 8)))

    pieces = [
        lambda: draw.choice(words),
        lambda: " " + draw.choice(words),
        lambda: draw.choice(lines)[: draw.randint(1, 80)],
        lambda: "".join(draw.choices(ASSIGNED, k=draw.randint(1, 4))),
        lambda: "".join(draw.choices(CHANGED, k=2)) + "".join(draw.choices(MARKS, k=draw.randint(0, 3))),
        lambda: draw.choice("aeiounANQ가각") + "".join(draw.choices("\u0300\u0301\u0308\u0323\u0327\u0338\u0345", k=3)),
        lambda: draw.choice([" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\u180e", "\u200b", "\x85", "\x1c"])
        * draw.randint(1, 5),
        lambda: str(draw.randint(0, 10 ** draw.randint(1, 12))),
        lambda: draw.choice(["'s", "'LL", "'re", "'\u017f", "'D", "\U0001f469\u200d\U0001f467", "\u2581", " \u2581a", "\x00", "\x7f"]),
        lambda: draw.choice(["x=[i for i in a]", "{\n  \"k\": 1.5e-3,\n", "#include <a>\n", "!!!", "...", "İIıſK"]),
        lambda: draw.choice([*SPECIAL, "<s>", "<unk>", "<0x0A>", "<mask>", "word", "na\u00efve", "nai\u0308ve"]),
        from_range,
    ]
    some = ["", " ", "\n", "a", "\u2581"]
    some += ["".join(draw.choice(pieces)() for _ in range(draw.randint(1, 12))) for _ in range(TEXTS - len(some) - 70)]
    # Each character once, and long words.
    share = len(ASSIGNED) // 60 + 1
    some += ["".join(c + "a" for c in ASSIGNED[i * share : (i + 1) * share]) for i in range(60)]
    return some + [c * 5000 for c in " a7!\n\u4e00\u2581"] + ["".join(lines[n : n + 500]) for n in (0, 500, 1000)]


def trained(lines, *, model=None, pre=None, normalizer=None, decoder=None, special=(), alphabet=(), size=1500, **trainer):
    tokenizer = Tokenizer(models.BPE(**(model or {})))
    tokenizer.pre_tokenizer = pre
    if normalizer:
        tokenizer.normalizer = normalizer
    if decoder:
        tokenizer.decoder = decoder
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), initial_alphabet=list(alphabet), show_progress=False, **trainer
    )
    tokenizer.train_from_iterator(lines, trainer)
    return json.loads(tokenizer.to_str())


def token(content, id, **flags):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": False} | flags  # fmt: skip


def byte_level(lines, pre, **others):
    return trained(lines, pre=pre, decoder=decoders.ByteLevel(), special=SPECIAL,
                   alphabet=pre_tokenizers.ByteLevel.alphabet(), **others)  # fmt: skip


def split(pattern, behavior="isolated", **others):
    return pre_tokenizers.Split(Regex(pattern), behavior, **others)


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


def llama2(lines):
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    made = trained(
        lines, model={"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True}, pre=pre_tokenizers.Metaspace(),
        special=["<unk>", "<s>", "</s>", *bytes_], size=1800, limit_alphabet=150,
    )  # fmt: skip
    made["added_tokens"] = made["added_tokens"][:3]
    made["pre_tokenizer"] = None
    made["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}  # fmt: skip
    made["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}  # fmt: skip
    return made


def changed(made, model=None, **parts):
    made = copy.deepcopy(made) | parts
    made["model"].update(model or {})
    return made


def with_tokens(made, *tokens):
    made = copy.deepcopy(made)
    first = len(made["model"]["vocab"])
    known = made["model"]["vocab"]
    for text, flags in tokens:
        made["added_tokens"].append(token(text, known.get(text, first), **flags))
        first += text not in known
    return made


def cases(lines):
    level = pre_tokenizers.ByteLevel
    gpt2 = byte_level(lines, level(add_prefix_space=False))
    yield "GPT-2", gpt2, GPT2
    yield "GPT-2, merges as pairs", changed(gpt2, {"merges": [m.split(" ") if isinstance(m, str) else m for m in gpt2["model"]["merges"]]}), None
    yield "GPT-2, merges as text", changed(gpt2, {"merges": [m if isinstance(m, str) else " ".join(m) for m in gpt2["model"]["merges"]]}), None
    yield "RoBERTa", with_tokens(byte_level(lines, level(add_prefix_space=True)), ("<mask>", {"lstrip": True, "special": True}),
                                 ("word", {"normalized": True}), ("naïve", {"rstrip": True, "lstrip": True})), None  # fmt: skip
    llama3 = byte_level(lines, sequence(split(LLAMA3), level(add_prefix_space=False, use_regex=False)), size=3000)
    yield "Llama 3", changed(llama3, {"ignore_merges": True}), LLAMA3
    yield "Qwen 2", changed(byte_level(lines, sequence(split(QWEN2), level(add_prefix_space=False, use_regex=False))),
                            normalizer={"type": "NFC"}), None  # fmt: skip
    yield "GPT-4o", byte_level(lines, sequence(split(GPT4O), level(add_prefix_space=False, use_regex=False))), GPT4O
    yield "StarCoder", byte_level(lines, sequence(pre_tokenizers.Digits(True), level(add_prefix_space=False))), None
    yield "DeepSeek", byte_level(lines, sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK),
                                                 level(add_prefix_space=False, use_regex=False))), None  # fmt: skip
    two = llama2(lines)
    yield "Llama 2", two, None
    yield "Llama 2 with added tokens", with_tokens(two, ("<|im|>", {"normalized": True}), ("word", {}), (" ▁a", {"normalized": True})), None
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    for scheme in ("first", "always", "never"):
        its = meta | {"prepend_scheme": scheme}
        yield f"Metaspace {scheme}", changed(two, normalizer=None, pre_tokenizer=its, decoder=its), None
    yield "Gemma", changed(two, normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                           pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
                           decoder={"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                                                                     {"type": "ByteFallback"}, {"type": "Fuse"}]}), None  # fmt: skip
    # Without all bytes, and without unknown characters.
    some = copy.deepcopy(two)
    for byte in (0xE4, 0xF0):
        some["model"]["vocab"][f"<0x{byte:02X}>other"] = some["model"]["vocab"].pop(f"<0x{byte:02X}>")
    yield "some bytes", some, None
    yield "some bytes, unknown ones not fused", changed(some, {"fuse_unk": False}), None
    yield "no bytes, no unknown ones", changed(two, {"byte_fallback": False, "unk_token": None}), None
    clip = trained(
        lines, model={"end_of_word_suffix": "</w>", "unk_token": "<|endoftext|>"}, special=SPECIAL, end_of_word_suffix="</w>",
        normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
        pre=sequence(split(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", invert=True),
                     level(add_prefix_space=False)),
        alphabet=level.alphabet(), decoder=decoders.ByteLevel(),
    )  # fmt: skip
    yield "CLIP", clip, None
    for form in ("NFD", "NFKC", "NFKD"):
        yield form, changed(gpt2, normalizer={"type": form}), None
    for behavior in ("Removed", "Isolated", "MergedWithPrevious"):
        for invert in (False, True):
            cut = {"type": "Split", "behavior": behavior, "invert": invert}
            for regex in (r"\p{L}+|\d", r"(?=[A-Z])|\s", r"^\S|[^\p{L}\s]$", r"[\p{L}\-]*", ".", "\u2581\\n?", r"(?<=a)\S"):
                level_of = [cut | {"pattern": {"Regex": regex}}, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]
                its = changed(gpt2, {"ignore_merges": True}, pre_tokenizer={"type": "Sequence", "pretokenizers": level_of})
                yield f"{behavior} {invert} {regex}", its, None


def run(*arguments):
    made = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"{arguments}: {made.stderr}")
    return made.stdout


def tiktoken_of(made, pattern):
    special = {one["content"]: one["id"] for one in made["added_tokens"]}
    to_byte = {character: byte for byte, character in enumerate(byte_alphabet())}
    ranks = {bytes(to_byte[c] for c in text): id for text, id in made["model"]["vocab"].items() if text not in special}
    return tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


def byte_alphabet():
    printed = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return [chr(byte) if byte in printed else chr(256 + others.index(byte)) for byte in range(256)]


def compare(name, made, pattern, inputs, folder):
    path = f"{folder}/tokenizer.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(made, file)
    with open(f"{folder}/texts.json", "w", encoding="utf-8") as file:
        json.dump(inputs, file)
    run(path, f"{folder}/texts.json", f"{folder}/out.json")
    ours = json.load(open(f"{folder}/out.json", encoding="utf-8"))
    theirs = Tokenizer.from_file(path)
    expected = theirs.encode_batch(inputs, add_special_tokens=False)
    bad = 0
    for text, (ids, decoded), encoding in zip(inputs, ours, expected):
        told = theirs.decode(encoding.ids, skip_special_tokens=False)
        if ids != encoding.ids or decoded != told:
            bad += 1
            if bad <= 3:
                print(f"{name}: {text[:200]!r}\n  ours   {ids[:60]} {decoded[:200]!r}\n  theirs {encoding.ids[:60]} {told[:200]!r}")
    if pattern:
        encoding = tiktoken_of(made, pattern)
        others = [encoding.encode(text, allowed_special="all") for text in inputs]
        wrong = [i for i, ids in enumerate(others) if ids != ours[i][0]]
        for i in wrong[:3]:
            print(f"{name}: {inputs[i][:200]!r}\n  ours     {ours[i][0][:60]}\n  tiktoken {others[i][:60]}")
        bad += len(wrong)
    print(f"{name}: {len(inputs)} texts, {bad} differ" + (", tiktoken too" if pattern else ""), flush=True)
    return bad


def main():
    lines = corpus()
    inputs = texts(lines)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, made, pattern in cases(lines):
            bad += compare(name, made, pattern, inputs if name in MAIN else inputs[::12], folder)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
