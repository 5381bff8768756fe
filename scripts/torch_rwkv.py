"""RWKV-7 of torch_decoder.py's models, token by token (arXiv:2503.14456; fla-org/flash-linear-attention,
layers/rwkv7.py): no chunks, no kernels, autograd. x: (sequences, tokens, hidden).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_recurrent import Weight, matrix, unit

MIXES = ("r", "decay", "k", "v", "step", "gate")


class Shift(nn.Module):
    """Mixes of every token and the preceding one, each with a fraction per channel of the latter."""

    def __init__(self, width, mixes):
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(mixes * width))

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, -1))
        return [x + (before - x) * share for share in self.shares.view(-1, x.shape[-1])]


class Shares(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(width))


def states(r, k, v, decay, removed, rate):
    """o_t = S r of S = S (diag(decay) - removed (rate removed)') + v k'. All: (sequences, tokens, heads, width); S has a
    row per value and a column per key."""
    state, out = torch.zeros(*r.shape[:1], *r.shape[2:], r.shape[-1]), []
    for t in range(r.shape[1]):
        known = (state * removed[:, t, :, None, :]).sum(dim=-1, keepdim=True)
        state = state * decay[:, t, :, None, :] - known * (rate * removed)[:, t, :, None, :]
        state = state + v[:, t, :, :, None] * k[:, t, :, None, :]
        out.append((state * r[:, t, :, None, :]).sum(dim=-1))
    return torch.stack(out, dim=1)


class Rwkv7(nn.Module):
    """r["values"]: a list in which the first layer stores its values for the others."""

    def __init__(self, hidden, r):
        super().__init__()
        self.heads, self.values, width = r["heads"], r["values"], r["heads"] * r["head_width"]
        self.shift = Shift(hidden, len(MIXES))
        self.r, self.k, self.v = (matrix(hidden, width) for _ in range(3))
        self.reads = r.get("value_rank", 0) > 0
        ranks = {"decay": r["rank"], "step": r["step_rank"], "gate": r["gate_rank"]}
        for name, rank in {**ranks, **({"value": r["value_rank"]} if self.reads else {})}.items():
            setattr(self, name + "_down", matrix(hidden, rank))
            setattr(self, name + "_up", matrix(rank, width, bias=name != "gate"))
        self.removed_key, self.key_gate, self.gate_mul = Weight(width), Shares(width), Shares(width)
        self.o_norm = nn.GroupNorm(self.heads, width, eps=r["head_width"] * r["epsilon"])
        self.out = matrix(width, hidden)

    def rows(self, x):
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, x):
        x = dict(zip(MIXES, self.shift(x)))
        r, k, v = self.r(x["r"]), self.k(x["k"]), self.v(x["v"])
        if self.reads:
            v = torch.lerp(v, self.values[0], torch.sigmoid(self.value_up(self.value_down(x["v"]))))
        else:
            self.values[:] = [v]
        decay = torch.exp(-math.exp(-0.5) * torch.sigmoid(self.decay_up(torch.tanh(self.decay_down(x["decay"])))))
        rate = torch.sigmoid(self.step_up(self.step_down(x["step"])))
        removed = unit(self.rows(k * self.removed_key.weight))
        k = k * (1 + (rate - 1) * self.key_gate.shares)
        o = states(*map(self.rows, (r, k, v, decay)), removed, self.rows(rate)).flatten(2)
        o = self.o_norm(o.flatten(0, 1)).view_as(o)
        bonus = self.rows(r * k * self.gate_mul.shares).sum(dim=-1, keepdim=True) * self.rows(v)
        gate = self.gate_up(torch.sigmoid(self.gate_down(x["gate"])))
        return self.out((o + bonus.flatten(2)) * gate)
