"""Compressed attention in PyTorch, as in DeepSeek-V4: one head of keys that are also the values, of a window of tokens
and of groups of tokens, among which an indexer may select.

Written from the architecture's description, for scripts/torch_decoder.py, a key at a time.
"""

import math

import torch
from torch import nn

from torch_recurrent import Weight


def rms(x, epsilon):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + epsilon)


def turned(x, positions, width, back=False):
    """The last `width` numbers of x (..., tokens, numbers) rotated in pairs (i, i + width/2) by their positions."""
    angle = torch.outer(positions * 1.0, 10000.0 ** (-torch.arange(0, width, 2) / width))
    plain, a, b = x.split((x.shape[-1] - width, width // 2, width // 2), dim=-1)
    turn = torch.polar(torch.ones_like(angle), -angle if back else angle)
    y = torch.complex(a, b) * turn
    return torch.cat((plain, y.real, y.imag), dim=-1)


class Pool(nn.Module):
    def __init__(self, ratio, wide):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(ratio, wide))


class GroupedLinear(nn.Module):
    def __init__(self, groups, width_in, width_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(groups, width_out, width_in))

    def forward(self, x):
        parts = x.unflatten(-1, (len(self.weight), -1))
        return torch.einsum("stgi,goi->stgo", parts, self.weight).flatten(-2)


class CompressedAttention(nn.Module):
    def __init__(self, m, window, epsilon, core):
        super().__init__()
        a, hidden = m["attention"], m["hidden"]
        self.heads, self.width, self.rope, self.window = a["heads"], a["head_width"], a["rope_width"], window
        self.rotary, self.epsilon = m["position"]["kind"] == "rope", epsilon
        self.q_down = nn.Linear(hidden, a["q_rank"], bias=False)
        self.q_norm = Weight(a["q_rank"])
        self.q_up = nn.Linear(a["q_rank"], self.heads * self.width, bias=False)
        self.kv = nn.Linear(hidden, self.width, bias=False)
        self.kv_norm = Weight(self.width)
        self.ratio, self.overlap = a.get("ratio", 0), a.get("overlap", False)
        if self.ratio:
            wide = self.width * (2 if self.overlap else 1)
            self.pool_keys, self.pool_gate = (nn.Linear(hidden, wide, bias=False) for _ in range(2))
            self.pool = Pool(self.ratio, wide)
            self.pool_norm = Weight(self.width)
        self.indexer = a.get("indexer")
        if self.indexer:
            i = self.indexer
            wide = i["width"] * (2 if self.overlap else 1)
            self.index_q = nn.Linear(a["q_rank"], i["heads"] * i["width"], bias=False)
            self.index_keys, self.index_gate = (nn.Linear(hidden, wide, bias=False) for _ in range(2))
            self.index_pool = Pool(self.ratio, wide)
            self.index_k_norm = Weight(i["width"])
            self.index_weights = nn.Linear(hidden, i["heads"], bias=False)
        self.core = core
        self.out_low = GroupedLinear(a["out_groups"], self.heads // a["out_groups"] * self.width, a["out_rank"])
        self.out = nn.Linear(a["out_groups"] * a["out_rank"], hidden, bias=False)

    def normed(self, x, weight):
        return rms(x, self.epsilon) * weight.weight

    def at(self, x, positions, back=False):
        return turned(x, positions, self.rope, back) if self.rotary else x

    def pooled(self, keys, gates, bias, norm, width):
        """Keys of the complete groups (sequences, groups, width)."""
        of = []
        for first in range(0, keys.shape[1] - self.ratio + 1, self.ratio):
            here = slice(first, first + self.ratio)
            k, g = [keys[:, here, -width:]], [gates[:, here, -width:] + bias[:, -width:]]
            if self.overlap and first > 0:
                before = slice(first - self.ratio, first)
                k.append(keys[:, before, :width])
                g.append(gates[:, before, :width] + bias[:, :width])
            of.append((torch.softmax(torch.cat(g, dim=1), dim=1) * torch.cat(k, dim=1)).sum(dim=1))
        pooled = self.normed(torch.stack(of, dim=1), norm)
        return self.at(pooled, torch.arange(len(of)) * self.ratio)

    def not_chosen(self, x, low, later):
        """(sequences, 1, tokens, groups): groups that are not among a query's top_k by the sum over heads of
        weight x relu(q k'), excluding later groups."""
        i = self.indexer
        q = self.index_q(low).unflatten(-1, (i["heads"], -1)).transpose(1, 2)
        q = self.at(q, torch.arange(x.shape[1]))
        k = self.pooled(self.index_keys(x), self.index_gate(x), self.index_pool.bias, self.index_k_norm, i["width"])
        weights = self.index_weights(x).transpose(1, 2)[..., None]
        scores = (torch.relu(q @ k[:, None].transpose(-1, -2)) * weights).sum(1).masked_fill(later, -math.inf)
        best = scores.sort(dim=-1, descending=True, stable=True).indices[..., : i["top_k"]]
        return torch.ones_like(scores, dtype=torch.bool).scatter(-1, best, False)[:, None]

    def forward(self, x):
        tokens = torch.arange(x.shape[1])
        low = self.normed(self.q_down(x), self.q_norm)
        q = self.q_up(low).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q = self.at(rms(q, self.epsilon), tokens)
        keys = self.at(self.normed(self.kv(x), self.kv_norm), tokens)
        ago = tokens[:, None] - tokens[None, :]
        hidden = (ago < 0) | (ago >= self.window)
        if self.ratio:
            pooled = self.pooled(self.pool_keys(x), self.pool_gate(x), self.pool.bias, self.pool_norm, self.width)
            keys = torch.cat((keys, pooled), dim=1)
            ends = (torch.arange(pooled.shape[1]) + 1) * self.ratio
            later = ends[None, :] > tokens[:, None] + 1
            if self.indexer:
                with torch.no_grad():
                    unread = self.not_chosen(x, low, later) | later
                hidden = torch.cat((hidden.expand(len(x), 1, -1, -1), unread), dim=-1)
            else:
                hidden = torch.cat((hidden, later), dim=1)
        scores = (q @ keys[:, None].transpose(-1, -2) / math.sqrt(self.width)).masked_fill(hidden, -math.inf)
        if self.core is not None:
            column = self.core.sinks[None, :, None, None].expand(*scores.shape[:-1], 1)
            scores = torch.cat((scores, column), dim=-1)
        p = torch.softmax(scores, dim=-1)[..., : keys.shape[1]]
        o = self.at(p @ keys[:, None], tokens, back=True).transpose(1, 2).flatten(2)
        return self.out(self.out_low(o))
