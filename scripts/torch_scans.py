"""Scans of torch_decoder.py's models, token by token, from the papers and modeling code: Mamba whose heads share a step
(hub pfnet/plamo-2-1b, modeling_plamo.py), RG-LRU (arXiv:2402.19427), mLSTM (arXiv:2405.04517), RWKV-5 and RWKV-6
(arXiv:2404.05892). No chunks, no kernels, autograd. x: (sequences, tokens, hidden).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from torch_compressed import GroupedLinear
from torch_recurrent import Convolution, Learned, Weight, matrix, rms, states
from torch_rwkv import Shift


class MambaHeads(nn.Module):
    """Heads of x; step, B and C are projected from all of x, each with a norm."""

    def __init__(self, hidden, r):
        super().__init__()
        self.heads, width = r["heads"], r["heads"] * r["head_width"]
        self.parts = (r["rank"], r["state"], r["state"])
        self.x, self.x_conv = matrix(hidden, width), Convolution(width, r["taps"], r["convolution_bias"])
        self.select, self.step = matrix(width, sum(self.parts)), matrix(r["rank"], self.heads, bias=True)
        self.step_norm, self.key_norm, self.query_norm = (Weight(n) for n in self.parts)
        self.core = Learned(log_decay=self.heads, skip=self.heads)
        self.gate, self.out = matrix(hidden, width), matrix(width, hidden)

    def forward(self, x):
        v = F.silu(self.x_conv(self.x(x)))
        low, k, q = (rms(part, norm.weight) for part, norm in zip(
            self.select(v).split(self.parts, dim=-1), (self.step_norm, self.key_norm, self.query_norm)))
        v = v.unflatten(-1, (self.heads, -1))
        step = F.softplus(self.step(low))[..., None]
        decay = torch.exp(-torch.exp(self.core.log_decay[:, None]) * step)
        k, q = (part[:, :, None].expand(*v.shape[:3], part.shape[-1]) for part in (k, q))
        y = states(q, k, step * v, decay) + self.core.skip[:, None] * v
        return self.out(y.flatten(2) * F.silu(self.gate(x)))


class RgLru(nn.Module):
    """h = a h + sqrt(1 - a^2) i x per channel; for the first token h = i x."""

    def __init__(self, hidden, r):
        super().__init__()
        width = r["heads"] * r["head_width"]
        self.gate, self.x = matrix(hidden, width, bias=True), matrix(hidden, width, bias=True)
        self.x_conv = Convolution(width, r["taps"], r["convolution_bias"])
        self.in_gate, self.decay = (GroupedLinear(r["heads"], r["head_width"], r["head_width"]) for _ in range(2))
        self.core = Learned(log_decay=width, step_bias=width, input_bias=width)
        self.out, self.activation = matrix(width, hidden, bias=True), r["activation"]

    def forward(self, x):
        y = self.x_conv(self.x(x))
        gate = torch.sigmoid(self.in_gate(y) + self.core.input_bias)
        log = -8 * torch.sigmoid(self.decay(y) + self.core.step_bias) * F.softplus(self.core.log_decay)
        h, out = None, []
        for t in range(x.shape[1]):
            new = gate[:, t] * y[:, t]
            h = new if h is None else torch.exp(log[:, t]) * h + torch.sqrt(1 - torch.exp(2 * log[:, t])) * new
            out.append(h)
        return self.out(torch.stack(out, dim=1) * self.activation(self.gate(x)))


class MLstm(nn.Module):
    """C = f C + i k v', n = f n + i k, h = q' C / max(|q' n|, 1) with i = exp and f = sigmoid of capped gates: equal to
    the stabilized form, whose scale m cancels (arXiv:2503.13427, (11) to (18))."""

    def __init__(self, hidden, r):
        super().__init__()
        self.heads, keys, width = r["heads"], r["heads"] * r["key_width"], r["heads"] * r["head_width"]
        self.q, self.k, self.v, self.gate = (matrix(hidden, n) for n in (keys, keys, width, width))
        self.in_gate, self.decay = (matrix(hidden, self.heads, bias=True) for _ in range(2))
        self.o_norm, self.out, self.epsilon = Weight(width), matrix(width, hidden), r["epsilon"]

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (self.heads, -1)) for p in (self.q, self.k, self.v))
        strength, forget = (15 * torch.tanh(p(x) / 15)[..., None] for p in (self.in_gate, self.decay))
        ones = torch.cat((v, torch.ones_like(v[..., :1])), dim=-1)
        y = states(q / math.sqrt(q.shape[-1]), k, torch.exp(strength) * ones, torch.sigmoid(forget))
        h = y[..., :-1] / torch.clamp(y[..., -1:].abs(), min=1)
        h = F.layer_norm(h, h.shape[-1:], eps=self.epsilon).flatten(2) * self.o_norm.weight
        return self.out(h * torch.sigmoid(self.gate(x)))


class MovedShift(nn.Module):
    """Mixes of every token and the preceding one, with learned, token-dependent fractions."""

    def __init__(self, width, mixes):
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(mixes * width))

    def forward(self, x, moves):
        before = F.pad(x, (0, 0, 1, -1))
        shares = self.shares.view(-1, x.shape[-1]) + moves.unflatten(-1, (-1, x.shape[-1]))
        return (x[:, :, None] + (before - x)[:, :, None] * shares).unbind(dim=2)


class Rwkv6(nn.Module):
    """o_t = r (S + u k v'), S = decay S + k v'. Without ranks: RWKV-5."""

    def __init__(self, hidden, r):
        super().__init__()
        self.heads, width, self.moves = r["heads"], r["heads"] * r["head_width"], r.get("mix_rank", 0) > 0
        self.shift = Shift(hidden, 1 if self.moves else 4)
        if self.moves:
            self.mix_down = matrix(hidden, 5 * r["mix_rank"])
            self.mix_up, self.mix = GroupedLinear(5, r["mix_rank"], hidden), MovedShift(hidden, 5)
            self.decay_down, self.decay_up = matrix(hidden, r["rank"]), matrix(r["rank"], width, bias=True)
        self.r, self.k, self.v, self.gate = (matrix(hidden, width) for _ in range(4))
        self.core = Learned(bonus=width, **({} if self.moves else {"log_decay": width}))
        self.o_norm, self.out = nn.GroupNorm(self.heads, width, eps=64 * r["epsilon"]), matrix(width, hidden)

    def mixes(self, x):
        if not self.moves:
            return (*self.shift(x), None)
        (base,) = self.shift(x)
        return self.mix(x, self.mix_up(torch.tanh(self.mix_down(base))))

    def forward(self, x):
        r, k, v, *rest = self.mixes(x)
        gate, decay = (rest[0], rest[1])
        d = self.decay_up(torch.tanh(self.decay_down(decay))) if self.moves else self.core.log_decay.expand(
            *x.shape[:2], -1)
        r, k, v, a = (y.unflatten(-1, (self.heads, -1)) for y in (
            self.r(r), self.k(k), self.v(v), torch.exp(-torch.exp(d))))
        u = self.core.bonus.view(self.heads, -1)
        state, out = torch.zeros(*k.shape[:1], *k.shape[2:], v.shape[-1]), []
        for t in range(x.shape[1]):
            new = k[:, t, :, :, None] * v[:, t, :, None, :]
            out.append((r[:, t, :, :, None] * (state + u[:, :, None] * new)).sum(dim=-2))
            state = a[:, t, :, :, None] * state + new
        o = torch.stack(out, dim=1).flatten(2)
        o = self.o_norm(o.flatten(0, 1)).view_as(o)
        return self.out(o * F.silu(self.gate(gate)))


SCANS = {"rg_lru": ("lru", RgLru), "mlstm": ("mlstm", MLstm), "rwkv6": ("rwkv", Rwkv6)}
