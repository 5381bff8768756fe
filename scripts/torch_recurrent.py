"""Recurrences of torch_decoder.py's models, token by token, from the papers: no chunks, no kernels, autograd.

Parameters have the names of the reference transformer. x: (sequences, tokens, hidden).
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Convolution(nn.Module):
    """Per channel along the tokens: y_t = sum of w_j x_(t - taps + 1 + j) + b."""

    def __init__(self, channels, taps, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(channels, taps))
        self.bias = nn.Parameter(torch.zeros(channels)) if bias else None

    def forward(self, x):
        channels, taps = self.weight.shape
        padded = F.pad(x.transpose(1, 2), (taps - 1, 0))
        return F.conv1d(padded, self.weight[:, None], self.bias, groups=channels).transpose(1, 2)


class Learned(nn.Module):
    """Values for the state update, by name."""

    def __init__(self, **sizes):
        super().__init__()
        for name, size in sizes.items():
            setattr(self, name, nn.Parameter(torch.zeros(size)))


def matrix(width_in, width_out, bias=False):
    return nn.Linear(width_in, width_out, bias=bias)


def unit(x):
    """Rows normalized to length 1."""
    return x / torch.sqrt(x.square().sum(dim=-1, keepdim=True) + 1e-6)


def rms(x, weight, epsilon=1e-5):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + epsilon) * weight


class Weight(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


def states(q, k, v, decay, beta=None):
    """o_t = q_t' S_t of S_t = decay S + k u', with u = v or, under the delta rule, beta (v - k' decay S).

    q, k: (sequences, tokens, heads, N), v: (..., P), decay: (..., N) or (..., 1), beta: (..., heads)
    """
    state, out = torch.zeros(*q.shape[:1], *q.shape[2:], v.shape[-1]), []
    for t in range(q.shape[1]):
        state = decay[:, t, :, :, None] * state
        u = v[:, t]
        if beta is not None:
            u = beta[:, t, :, None] * (u - (k[:, t, :, :, None] * state).sum(dim=-2))
        state = state + k[:, t, :, :, None] * u[:, :, None]
        out.append((q[:, t, :, :, None] * state).sum(dim=-2))
    return torch.stack(out, dim=1)


class DeltaRule(nn.Module):
    """Gated DeltaNet (arXiv:2412.06464) and Kimi's variant (arXiv:2510.26692) with decays per channel and a sigmoid
    gate."""

    def __init__(self, hidden, r):
        super().__init__()
        self.kimi = r["kind"] == "kimi_delta"
        self.heads, self.width = r["heads"], r["head_width"]
        self.key_heads, self.key_width = r.get("key_heads", self.heads), r.get("key_width", self.width)
        keys, values = self.key_heads * self.key_width, self.heads * self.width
        for name, width in (("q", keys), ("k", keys), ("v", values)):
            setattr(self, name, matrix(hidden, width))
            setattr(self, name + "_conv", Convolution(width, r["taps"], False))
        if self.kimi:
            self.decay_down, self.decay_up = matrix(hidden, r["rank"]), matrix(r["rank"], values)
            if r.get("full_rank_gate"):
                self.gate = matrix(hidden, values)
            else:
                self.gate_down, self.gate_up = matrix(hidden, r["rank"]), matrix(r["rank"], values)
        else:
            self.decay, self.gate = matrix(hidden, self.heads), matrix(hidden, values)
        self.beta = matrix(hidden, self.heads)
        self.core = Learned(log_decay=r.get("decays", self.heads), step_bias=values if self.kimi else self.heads)
        self.o_norm, self.out = Weight(self.width), matrix(values, hidden)

    def rows(self, name, x, heads):
        y = F.silu(getattr(self, name + "_conv")(getattr(self, name)(x)))
        return y.unflatten(-1, (heads, -1))

    def through(self, name, x):
        low = getattr(self, name + "_down", None)
        return getattr(self, name)(x) if low is None else getattr(self, name + "_up")(low(x))

    def forward(self, x):
        times = self.heads // self.key_heads
        q, k = (unit(self.rows(n, x, self.key_heads)).repeat_interleave(times, dim=2) for n in ("q", "k"))
        step = F.softplus(self.through("decay", x) + self.core.step_bias).unflatten(-1, (self.heads, -1))
        decay = torch.exp(-torch.exp(self.core.log_decay[: self.heads, None]) * step)
        o = states(q / math.sqrt(self.key_width), k, self.rows("v", x, self.heads), decay, torch.sigmoid(self.beta(x)))
        z = self.through("gate", x).unflatten(-1, (self.heads, -1))
        gate = torch.sigmoid(z) if self.kimi else F.silu(z)
        return self.out((rms(o, self.o_norm.weight) * gate).flatten(2))


class Mamba2(nn.Module):
    """State-space duality (arXiv:2405.21060): one decay per head, B and C per group of heads."""

    def __init__(self, hidden, r):
        super().__init__()
        self.heads, self.groups, self.state = r["heads"], r["groups"], r["state"]
        width = self.heads * r["head_width"]
        for name, channels in (("x", width), ("select", 2 * self.groups * self.state)):
            setattr(self, name, matrix(hidden, channels))
            setattr(self, name + "_conv", Convolution(channels, r["taps"], r["convolution_bias"]))
        self.step, self.gate = matrix(hidden, self.heads), matrix(hidden, width)
        self.core = Learned(log_decay=self.heads, step_bias=self.heads, skip=self.heads)
        self.norm = Weight(width) if r["norm"] else None
        self.out = matrix(width, hidden)

    def forward(self, x):
        v = F.silu(self.x_conv(self.x(x))).unflatten(-1, (self.heads, -1))
        select = F.silu(self.select_conv(self.select(x)))
        k, q = (part.unflatten(-1, (self.groups, -1)).repeat_interleave(self.heads // self.groups, dim=2)
                for part in select.chunk(2, dim=-1))
        step = F.softplus(self.step(x) + self.core.step_bias)[..., None]
        decay = torch.exp(-torch.exp(self.core.log_decay[:, None]) * step)
        y = states(q, k, step * v, decay) + self.core.skip[:, None] * v
        y = y.flatten(2) * F.silu(self.gate(x))
        return self.out(y if self.norm is None else rms(y, self.norm.weight))


class Mamba(nn.Module):
    """Selective scan (arXiv:2312.00752): a state per channel; B, C and the step depend on x."""

    def __init__(self, hidden, r):
        super().__init__()
        width, self.state, self.rank = r["channels"], r["state"], r["rank"]
        self.x, self.x_conv = matrix(hidden, width), Convolution(width, r["taps"], r["convolution_bias"])
        self.select, self.step = matrix(width, self.rank + 2 * self.state), matrix(self.rank, width, bias=True)
        self.core = Learned(log_decay=width * self.state, skip=width)
        self.gate, self.out = matrix(hidden, width), matrix(width, hidden)

    def forward(self, x):
        v = F.silu(self.x_conv(self.x(x)))
        low, k, q = self.select(v).split((self.rank, self.state, self.state), dim=-1)
        step = F.softplus(self.step(low))[..., None]
        decay = torch.exp(-torch.exp(self.core.log_decay.view(-1, self.state)) * step)
        shape = (*v.shape, self.state)
        y = states(q[:, :, None].expand(shape), k[:, :, None].expand(shape), step * v[..., None], decay).squeeze(-1)
        return self.out((y + self.core.skip * v) * F.silu(self.gate(x)))


class ShortConvolution(nn.Module):
    """LFM2: c * convolution(b * x)."""

    def __init__(self, hidden, r):
        super().__init__()
        width = r["channels"]
        self.in_gate, self.out_gate, self.x = (matrix(hidden, width) for _ in range(3))
        self.core, self.out = Convolution(width, r["taps"], r["convolution_bias"]), matrix(width, hidden)

    def forward(self, x):
        return self.out(self.out_gate(x) * self.core(self.in_gate(x) * self.x(x)))


def slopes(heads, layer, layers):
    """Slopes of MiniMax-01's decays (arXiv:2501.08313; hf minimax/modeling_minimax.py, get_slope_rate)."""
    factor = 1 - layer / (layers - 1 + 1e-5) + 1e-5
    return torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)]) * factor


class LinearAttention(nn.Module):
    """Lightning attention (arXiv:2501.08313), with parameter names of attention."""

    def __init__(self, m, layer):
        super().__init__()
        a = m["attention"]
        self.heads, width = a["heads"], a["heads"] * a["head_width"]
        self.slopes = slopes(self.heads, layer, m["layers"])
        self.q, self.k, self.v, self.gate = (matrix(m["hidden"], width) for _ in range(4))
        self.o_norm, self.out = Weight(width), matrix(width, m["hidden"])

    def forward(self, x):
        q, k, v = (F.silu(p(x)).unflatten(-1, (self.heads, -1)) for p in (self.q, self.k, self.v))
        decay = torch.exp(-self.slopes.to(x.dtype))[:, None].expand(*q.shape[:-1], 1)
        o = states(q, k, v, decay).flatten(2)
        return self.out(rms(o, self.o_norm.weight) * torch.sigmoid(self.gate(x)))


RECURRENCES = {
    "gated_delta_net": ("delta", DeltaRule),
    "kimi_delta": ("kda", DeltaRule),
    "mamba": ("ssm", Mamba),
    "mamba2": ("ssm", Mamba2),
    "short_convolution": ("conv", ShortConvolution),
}
