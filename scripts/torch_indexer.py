"""Selection of the keys that attention reads: lightning indexers (DeepSeek-V3.2, arXiv:2512.02556, 2.1) and indexers of
blocks (MiniMax-M3), for torch_decoder.py. The selection is constant for the loss, so no weight here has a gradient."""

import math

import torch
from torch import nn


def modules(m, rms_norm, epsilon):
    """The indexer's modules by name; empty if the layer has no indexer or reuses an earlier layer's selection."""
    i = m["attention"].get("indexer")
    if i is None or i.get("shared"):
        return {}
    lightning, hidden, width = i["kind"] == "lightning", m["hidden"], i["width"]
    source = m["attention"]["q_rank"] if lightning else hidden
    parts = {"index_q": nn.Linear(source, i["heads"] * width, bias=False),
             "index_k": nn.Linear(hidden, width, bias=False)}
    if lightning:
        parts["index_weights"] = nn.Linear(hidden, i["heads"], bias=False)
        parts["index_k_norm"] = nn.LayerNorm(width, eps=epsilon)
    else:
        parts["index_q_norm"], parts["index_k_norm"] = rms_norm(width), rms_norm(width)
    return parts


def unread(attention, m, x, low, turned):
    """(sequences, 1, tokens, tokens): the keys that are not selected; None if all are read. m["choices"] stores the last
    selection for layers that share it."""
    i = m["attention"].get("indexer")
    if i is None:
        return None
    if not i.get("shared"):
        with torch.no_grad():
            choose = lightning if i["kind"] == "lightning" else blocks
            m["choices"][:] = [~choose(attention, m, i, x, low, turned)[:, None]]
    return m["choices"][0]


def lightning(attention, m, i, x, low, turned):
    """Every query's top_k tokens by the sum over heads of weight x relu(q k'); for equal sums, such as 0, the first ones."""
    rope, tokens = m["attention"]["rope_width"], x.shape[1]

    def turn(t):
        return torch.cat((turned(t[..., :rope]), t[..., rope:]), dim=-1)

    q = turn(attention.index_q(low).unflatten(-1, (i["heads"], -1)).transpose(1, 2))
    k = turn(attention.index_k_norm(attention.index_k(x))[:, None])
    weights = attention.index_weights(x).transpose(1, 2)[..., None]
    scores = (torch.relu(q @ k.transpose(-1, -2)) * weights).sum(1)
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(later, -math.inf)
    best = scores.sort(dim=-1, descending=True, stable=True).indices[..., : i["top_k"]]
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, True)


def blocks(attention, m, i, x, low, turned):
    """The query's block, and the top_k of the preceding ones by their largest sum over heads of q k'."""
    q = turned(attention.index_q_norm(attention.index_q(x).unflatten(-1, (i["heads"], -1))).transpose(1, 2))
    k = turned(attention.index_k_norm(attention.index_k(x))[:, None])
    scores = (q @ k.transpose(-1, -2)).sum(1)
    read = torch.zeros_like(scores, dtype=torch.bool)
    size = i["block"]
    for sequence in range(len(scores)):
        for t in range(scores.shape[1]):
            own = t // size
            best = [scores[sequence, t, b * size : (b + 1) * size].max() for b in range(own)]
            for b in sorted(range(own), key=lambda b: -best[b])[: i["top_k"]] + [own]:
                read[sequence, t, b * size : (b + 1) * size] = True
    return read
