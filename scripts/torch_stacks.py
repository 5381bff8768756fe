"""An encoder-decoder as in T5 (Raffel et al. 2020, arXiv:1910.10683), for scripts/torch-fixtures.

Written from the paper and its description of the code: norms before every sub-layer and after each stack, no biases,
unscaled scores, and in each stack a table of learned numbers per head and distance bucket, which all its layers add to
the scores. The encoder's layers come first.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_decoder import Ends, Mlp, norm, of_layer

FARTHEST = 128  # larger distances share one bucket


def ranges(count, tokens, both_ways):
    """The distance bucket of every pair: half of the buckets hold one distance each, the others grow by a factor. Both
    ways: keys at or before the query use the first half of the buckets, later keys the second."""
    ahead = torch.arange(tokens)[None, :] - torch.arange(tokens)[:, None]
    first = torch.where(ahead > 0, count // 2, 0) if both_ways else 0
    distance = ahead.abs() if both_ways else (-ahead).clamp(min=0)
    count = count // 2 if both_ways else count
    exact = count // 2
    far = torch.log(distance.clamp(min=1).float() / exact) / math.log(FARTHEST / exact) * (count - exact)
    return first + torch.where(distance < exact, distance, (exact + far.long()).clamp(max=count - 1))


class Attention(nn.Module):
    """softmax(Q K' + bias) V W_o; keys and values from y."""

    def __init__(self, m):
        super().__init__()
        a = m["attention"]
        self.heads, self.kv_heads, self.width = a["heads"], a["kv_heads"], a["head_width"]
        self.q = nn.Linear(m["hidden"], self.heads * self.width, bias=False)
        self.k, self.v = (nn.Linear(m["hidden"], self.kv_heads * self.width, bias=False) for _ in range(2))
        self.out = nn.Linear(self.heads * self.width, m["hidden"], bias=False)
        self.norm = norm(m)

    def forward(self, x, y, added):
        def split(t, heads):
            return t.unflatten(-1, (heads, self.width)).transpose(1, 2)

        k, v = (split(w(y), self.kv_heads).repeat_interleave(self.heads // self.kv_heads, dim=1)
                for w in (self.k, self.v))
        p = torch.softmax(split(self.q(x), self.heads) @ k.transpose(-1, -2) + added, dim=-1)
        return self.out((p @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, model, layer):
        super().__init__()
        m = of_layer(model, layer)
        self.attn, self.mlp = Attention(m), Mlp(m, layer)
        self.cross = Attention(m) if m["attention"].get("cross_attention") else None
        self.mlp.norm = norm(m)

    def forward(self, x, added, encoded):
        n = self.attn.norm(x)
        x = x + self.attn(n, n, added)
        if self.cross is not None:
            x = x + self.cross(self.cross.norm(x), encoded, 0.0)
        return x + self.mlp(self.mlp.norm(x))


class EncoderDecoder(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.rows, self.embedding, self.head = m["position"]["rows"], Ends(), Ends()
        heads = m["attention"]["heads"]
        self.embedding.tokens = nn.Embedding(m["vocabulary"], m["hidden"])
        self.embedding.encoder_distances, self.embedding.distances = (nn.Embedding(self.rows, heads) for _ in range(2))
        self.layers = nn.ModuleList(Layer(m, i) for i in range(m["layers"]))
        self.layers[self.last()].encoder = Ends()
        self.layers[self.last()].encoder.norm = norm(m)
        self.head.norm = norm(m)
        self.head.logits = nn.Linear(m["hidden"], m["vocabulary"], bias=False)
        if m["head"]["tied"]:
            self.head.logits.weight = self.embedding.tokens.weight

    def last(self):
        """The result of the encoder's last layer."""
        return max(i for i, layer in enumerate(self.layers) if layer.cross is None)

    def forward(self, ids, targets):
        """Logits of the decoder, which reads the targets shifted by one, after token 0."""
        read = F.pad(targets[:, :-1], (1, 0))
        both = self.embedding.encoder_distances(ranges(self.rows, ids.shape[1], True)).permute(2, 0, 1)
        back = self.embedding.distances(ranges(self.rows, read.shape[1], False)).permute(2, 0, 1)
        unseen = torch.ones(read.shape[1], read.shape[1]).triu(1).bool()
        x, encoded = self.embedding.tokens(ids), None
        for i, layer in enumerate(self.layers):
            x = layer(x, both if layer.cross is None else back.masked_fill(unseen, -math.inf), encoded)
            if i == self.last():
                encoded, x = layer.encoder.norm(x), self.embedding.tokens(read)
        return self.head.logits(self.head.norm(x))

    def loss(self, ids, targets):
        return F.cross_entropy(self(ids, targets).flatten(0, 1), targets.flatten())
