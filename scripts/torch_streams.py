"""Several residual streams in PyTorch: hyper-connections as in DeepSeek-V4 (mHC, arXiv:2512.24880).

Written from the paper, for scripts/torch_decoder.py.
"""

import torch
from torch import nn

BALANCINGS = 20  # the softmax replaces the first normalization of rows
SMALL = 1e-6


class Gather(nn.Module):
    def __init__(self, weights, scales):
        super().__init__()
        self.scales = nn.Parameter(torch.zeros(scales))
        self.bias = nn.Parameter(torch.zeros(weights))


def add_streams(part, streams, hidden, in_block=True):
    """Adds the stream weights to a sub-layer or the head."""
    weights = streams * (streams + 2) if in_block else streams
    part.stream_weights = nn.Linear(streams * hidden, weights, bias=False)
    part.gather = Gather(weights, 3 if in_block else 1)


def weights(part, x, epsilon):
    """The streams x (sequences, tokens, n, hidden) after a norm and a projection: weights of the parts."""
    n = x.shape[-2]
    flat = x.flatten(-2)
    normed = flat * torch.rsqrt(flat.square().mean(dim=-1, keepdim=True) + epsilon)
    sizes = (n, n, n * n)[: len(part.gather.scales)]
    made = part.stream_weights(normed).split(sizes, dim=-1)
    return [m * s + b for m, s, b in zip(made, part.gather.scales, part.gather.bias.split(sizes))]


def gathered(x, z):
    return ((torch.sigmoid(z) + SMALL)[..., None] * x).sum(dim=-2)


def balanced(z):
    """An approximately doubly stochastic matrix (Sinkhorn, Knopp 1967)."""
    m = torch.softmax(z, dim=-1) + SMALL
    for i in range(BALANCINGS):
        if i > 0:
            m = m / (m.sum(dim=-1, keepdim=True) + SMALL)
        m = m / (m.sum(dim=-2, keepdim=True) + SMALL)
    return m


def streamed(part, f, x, epsilon):
    """One sub-layer f on the streams x: row i of the matrix contains the weights of stream i."""
    n = x.shape[-2]
    z_in, z_out, z_mix = weights(part, x, epsilon)
    y = f(gathered(x, z_in))
    given = balanced(z_mix.unflatten(-1, (n, n))).transpose(-1, -2) @ x
    return given + 2 * torch.sigmoid(z_out)[..., None] * y[..., None, :]
