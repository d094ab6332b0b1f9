"""nanoGPT's model (https://github.com/karpathy/nanoGPT), written from its definition: GPT-2's layers and their names,
its initial weights, and an output for every position of a block."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Norm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, bias):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)
        self.resid_dropout = nn.Dropout(dropout)
        self.heads, self.dropout = heads, dropout

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (
            part.view(n, t, self.heads, width // self.heads).transpose(1, 2) for part in self.c_attn(x).split(width, 2)
        )
        dropout = self.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(n, t, width)))


class Mlp(nn.Module):
    def __init__(self, width, dropout, bias):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * width, width, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, width, heads, dropout, bias):
        super().__init__()
        self.ln_1 = Norm(width, bias)
        self.attn = Attention(width, heads, dropout, bias)
        self.ln_2 = Norm(width, bias)
        self.mlp = Mlp(width, dropout, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, n_layer, n_head, n_embd, block_size, vocab_size, dropout=0.0, bias=True):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab_size, n_embd),
                "wpe": nn.Embedding(block_size, n_embd),
                "drop": nn.Dropout(dropout),
                "h": nn.ModuleList([Block(n_embd, n_head, dropout, bias) for _ in range(n_layer)]),
                "ln_f": Norm(n_embd, bias),
            }
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self.draw)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, mean=0.0, std=0.02 / math.sqrt(2 * n_layer))

    @staticmethod
    def draw(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        return self.lm_head(self.features(tokens))

    def features(self, tokens):
        parts = self.transformer
        places = torch.arange(0, tokens.shape[1], dtype=torch.long, device=tokens.device)
        x = parts.drop(parts.wte(tokens) + parts.wpe(places))
        for block in parts.h:
            x = block(x)
        return parts.ln_f(x)

    @torch.no_grad()
    def generate(self, tokens, count, temperature, top_k):
        """The ids that follow these, drawn as in nanoGPT, whose forward scores only the last position."""
        ids = torch.tensor([tokens])
        for _ in range(count):
            x = self.features(ids[:, -self.transformer.wpe.num_embeddings :])
            scores = self.lm_head(x[:, [-1], :])[:, -1, :]
            ids = torch.cat((ids, draw(scores, temperature, top_k)), dim=1)
        return ids[0, len(tokens) :].tolist()


def draw(scores, temperature, top_k):
    """The next id, drawn from the scores [1, ids] as in nanoGPT."""
    if temperature == 0:
        return scores.argmax(1, keepdim=True)
    scores = scores / temperature
    least = torch.topk(scores, min(top_k, scores.size(-1)))[0][:, [-1]]
    scores[scores < least] = -float("Inf")
    return torch.multinomial(F.softmax(scores, dim=-1), num_samples=1)
