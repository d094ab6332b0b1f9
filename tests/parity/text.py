"""Texts and tokens, written as in nanoGPT: prepare.py's characters, get_batch's blocks and offsets."""

import json
import unicodedata

import numpy
import torch
from torch.utils.data import Dataset

DTYPES = {"uint16": numpy.uint16, "uint32": numpy.uint32, "int32": numpy.int32, "int64": numpy.int64}
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def read(paths):
    text = ""
    for path in [paths] if isinstance(paths, str) else paths:
        with open(path, encoding="utf-8", newline="") as file:
            text += file.read()
    return text


def encode(text, tokenizer):
    """The ids of a whole text."""
    if tokenizer == "char":
        ids = {character: i for i, character in enumerate(sorted(set(text)))}
        return [ids[character] for character in text]
    if tokenizer == "byte":
        return list(text.encode())
    return Gpt2(tokenizer).encode(text)


def encode_prompt(prompt, text, tokenizer):
    """The ids of a prompt, for a model that was trained on this text."""
    return [sorted(set(text)).index(c) for c in prompt] if tokenizer == "char" else encode(prompt, tokenizer)


def vocab_size(text, tokenizer):
    if tokenizer == "char":
        return len(set(text))
    return 256 if tokenizer == "byte" else len(Gpt2(tokenizer).ids)


def decode(ids, text, tokenizer):
    """The bytes of these ids, for a model that was trained on this text."""
    if tokenizer == "char":
        characters = sorted(set(text))
        return "".join(characters[id] for id in ids).encode()
    return bytes(ids) if tokenizer == "byte" else Gpt2(tokenizer).decode(ids)


def kind(character):
    """The character classes of GPT-2's regular expression: letters, numbers, white space, and the rest."""
    if character in "\t\n\v\f\r \x85\u2028\u2029" or unicodedata.category(character) == "Zs":
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(character)[0], "other")


def words(text):
    """'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"""
    place = 0
    while place < len(text):
        begin = place
        contraction = next((c for c in CONTRACTIONS if text.startswith(c, place)), None)
        if contraction:
            place += len(contraction)
            yield contraction
            continue
        if text[place] == " " and place + 1 < len(text) and kind(text[place + 1]) != "space":
            place += 1
        same = kind(text[place])
        while place < len(text) and kind(text[place]) == same:
            place += 1
        # White space leaves its last character to the following word.
        if same == "space" and place < len(text) and place - begin > 1:
            place -= 1
        yield text[begin:place]


def alphabet():
    """bytes_to_unicode of GPT-2's encoder.py."""
    printed = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: chr(byte) for byte in printed} | {byte: chr(256 + i) for i, byte in enumerate(others)}


class Gpt2:
    """The byte pair encoding of GPT-2's encoder.py."""

    def __init__(self, folder):
        with open(f"{folder}/vocab.json", encoding="utf-8") as file:
            self.ids = json.load(file)
        with open(f"{folder}/merges.txt", encoding="utf-8") as file:
            pairs = [tuple(line.split()) for line in file.read().split("\n")[1:-1]]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.of_byte = alphabet()
        self.known = {}

    def encode(self, text):
        return [id for word in words(text) for id in self.encode_word(word)]

    def decode(self, ids):
        words = {id: word for word, id in self.ids.items()}
        byte_of = {character: byte for byte, character in self.of_byte.items()}
        return bytes(byte_of[character] for id in ids for character in words[id])

    def encode_word(self, word):
        if word not in self.known:
            symbols = [self.of_byte[byte] for byte in word.encode()]
            while len(symbols) > 1:
                pair = min(zip(symbols, symbols[1:]), key=lambda p: self.ranks.get(p, float("inf")))
                if pair not in self.ranks:
                    break
                symbols = join(symbols, pair)
            self.known[word] = [self.ids[symbol] for symbol in symbols]
        return self.known[word]


def join(symbols, pair):
    joined, place = [], 0
    while place < len(symbols):
        here = tuple(symbols[place : place + 2]) == pair
        joined.append("".join(pair) if here else symbols[place])
        place += 2 if here else 1
    return joined


def train_gpt2(text, merges, folder):
    """Writes vocab.json and merges.txt: byte pair encoding trained on a text."""
    of_byte = alphabet()
    counts = {}
    for word in words(text):
        symbols = tuple(of_byte[byte] for byte in word.encode())
        counts[symbols] = counts.get(symbols, 0) + 1
    ids = {character: i for i, character in enumerate(of_byte.values())}
    lines = ["#version: 0.2"]
    for _ in range(merges):
        pairs = {}
        for symbols, count in counts.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] = pairs.get(pair, 0) + count
        pair = max(pairs, key=pairs.get)
        joined = {}
        for symbols, count in counts.items():
            symbols = tuple(join(symbols, pair))
            joined[symbols] = joined.get(symbols, 0) + count
        counts = joined
        lines.append(" ".join(pair))
        ids.setdefault("".join(pair), len(ids))
    with open(f"{folder}/vocab.json", "w", encoding="utf-8") as file:
        json.dump(ids, file)
    with open(f"{folder}/merges.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


class Blocks(Dataset):
    """Block i begins at token i * block_size; targets are one token later."""

    def __init__(self, tokens, block_size):
        self.tokens, self.block_size = torch.tensor(tokens, dtype=torch.long), block_size

    def __len__(self):
        return (len(self.tokens) - 1) // self.block_size

    def __getitem__(self, index):
        return self.at(index * self.block_size)

    def at(self, begin):
        end = begin + self.block_size
        return self.tokens[begin:end], self.tokens[begin + 1 : end + 1]


class Offsets:
    """Not a Dataset: nanoGPT's get_batch, with offsets that depend on the step."""

    def __init__(self, blocks, seed):
        self.blocks, self.seed = blocks, seed

    def draw(self, batch_size, step, micro_batch, rank):
        offsets = len(self.blocks.tokens) - self.blocks.block_size
        samples = [
            self.blocks.at(Philox(self.seed, step, 1 << 63 | micro_batch << 40 | rank << 24 | sample).below(offsets))
            for sample in range(batch_size)
        ]
        return tuple(torch.stack(part) for part in zip(*samples))


class Philox:
    """Philox4x32-10 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"."""

    def __init__(self, seed, second, upper):
        self.key = seed & 0xFFFFFFFF, seed >> 32
        self.counter = [0, second, upper & 0xFFFFFFFF, upper >> 32]
        self.left = []

    def bits(self):
        if not self.left:
            self.left = list(self.block())
            self.counter[0] += 1
        return self.left.pop(0)

    def block(self):
        (a, b, c, d), (k, l) = self.counter, self.key
        for _ in range(10):
            x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = (y >> 32) ^ b ^ k, y & 0xFFFFFFFF, (x >> 32) ^ d ^ l, x & 0xFFFFFFFF
            k, l = (k + 0x9E3779B9) & 0xFFFFFFFF, (l + 0xBB67AE85) & 0xFFFFFFFF
        return a, b, c, d

    def below(self, n):
        while True:
            drawn = self.bits() << 32 | self.bits()
            if drawn >= (2**64 - n) % n:
                return drawn % n


def load(section, validation, seed):
    """(training data, validation data or None) of a dataset that holds out its end."""
    if section["name"] == "text":
        tokens = encode(read(section["path"]), section.get("tokenizer", "char"))
    else:
        tokens = numpy.fromfile(section["path"], DTYPES[section.get("dtype", "uint16")]).astype(numpy.int64)
    end = int(len(tokens) * (1 - validation.get("split", 0)))
    train = Blocks(tokens[:end], section["block_size"])
    if section.get("sampling") == "random":
        train = Offsets(train, seed)
    return train, Blocks(tokens[end:], section["block_size"]) if validation.get("split") else None
