"""Gemma 3n's residual streams and per-layer inputs in PyTorch: alternating updates (arXiv:2301.13310), a low rank
parallel to attention, per-layer inputs (hf gemma3n/modeling_gemma3n.py), without that model's constant factors.

For scripts/torch_decoder.py. Streams: (sequences, tokens, n, hidden).
"""

import torch
from torch import nn

from torch_recurrent import Weight, matrix, rms

LEAST = 1e-5  # of a projection's mean square


class Factors(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.factors = nn.Parameter(torch.ones(width))


class AltUp(nn.Module):
    """Predicts all streams, and corrects them by the layer's result for the first one."""

    def __init__(self, hidden, n):
        super().__init__()
        self.norm, self.router = Weight(hidden), matrix(hidden, n)
        self.predict_weights, self.correct_weights = matrix(n, n * n), matrix(n, n)
        self.scale = Factors(hidden)

    def numbers(self, x):
        return torch.tanh(self.router(rms(x, self.norm.weight)))

    def predict(self, x):
        n = x.shape[-2]
        return x + self.predict_weights(self.numbers(x[..., 0, :])).unflatten(-1, (n, n)) @ x

    def correct(self, predicted, result):
        share = 1 + self.correct_weights(self.numbers(result))
        return predicted + share[..., None] * (result - predicted[..., 0, :])[..., None, :]


class LowRank(nn.Module):
    def __init__(self, hidden, rank, norm):
        super().__init__()
        self.down, self.up, self.norm = matrix(hidden, rank), matrix(rank, hidden), norm

    def forward(self, x):
        return x + self.norm(self.up(self.down(x)))


class OwnInput(nn.Module):
    """norm((act(x G) e) P) with the per-layer input e."""

    def __init__(self, hidden, width, act, norm):
        super().__init__()
        self.gate, self.project, self.act, self.norm = matrix(hidden, width), matrix(width, hidden), act, norm

    def forward(self, x, own):
        return self.norm(self.project(self.act(self.gate(x)) * own))


class Projections(nn.Module):
    """A matrix for each additional stream; projections have the magnitude of the first one."""

    def __init__(self, hidden, n):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n - 1, hidden, hidden))

    def forward(self, first, others):
        """others: (..., n - 1, hidden), or a single one for all."""
        z = (self.weight @ others[..., None]).squeeze(-1)
        square = torch.clamp(z.square().mean(dim=-1, keepdim=True), min=LEAST)
        z = z * torch.sqrt(first.square().mean(dim=-1, keepdim=True))[..., None, :] / torch.sqrt(square)
        return torch.cat((first[..., None, :], z), dim=-2)


def add_altup(block, m, norm, act):
    """Adds the modules of alternating updates to a layer."""
    block.altup = AltUp(m["hidden"], m["streams"])
    if m.get("laurel_rank"):
        block.laurel = LowRank(m["hidden"], m["laurel_rank"], norm(m))
    block.per_layer = OwnInput(m["hidden"], m["layered_input"]["width"], act, norm(m))


def alternating(block, x, own):
    """One layer on the streams x."""
    predicted = block.altup.predict(x)
    first = predicted[..., 0, :]
    normed = block.attn.norm(first)
    y = block.mix(normed)
    y = first + (block.attn.post_norm(y) if block.place == "both" else y)
    if hasattr(block, "laurel"):
        y = y + block.laurel(normed)
    corrected = block.altup.correct(predicted, block.sub_layer(block.mlp, block.mlp, y))
    shared = block.per_layer(corrected[..., 0, :] * block.altup.scale.factors, own)
    return torch.cat((corrected[..., :1, :], corrected[..., 1:, :] + shared[..., None, :]), dim=-2)


class Inputs:
    """Inputs of all layers: from a separate table and a projection of the embedding x."""

    @staticmethod
    def add(embedding, m):
        own, every = m["layered_input"], m["layers"] * m["layered_input"]["width"]
        embedding.per_layer, embedding.per_layer_project = nn.Embedding(own["rows"], every), matrix(m["hidden"], every)
        embedding.per_layer_norm = Weight(own["width"])

    @staticmethod
    def of(embedding, ids, x):
        width = embedding.per_layer_norm.weight.shape[0]
        projected = rms(embedding.per_layer_project(x).unflatten(-1, (-1, width)), embedding.per_layer_norm.weight)
        return list((embedding.per_layer(ids).unflatten(-1, (-1, width)) + projected).unbind(dim=-2))
