"""A decoder or an encoder in idiomatic PyTorch: modules and autograd, built from the keys of an llmcalc model file.

Written from the papers as a comparison for the reference transformer (scripts/torch-fixtures), without shared code.
The module tree gives parameters the names of the reference transformer.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

import torch_further
import torch_indexer
from torch_altup import Inputs, Projections, add_altup, alternating
from torch_compressed import CompressedAttention
from torch_recurrent import RECURRENCES, LinearAttention, Weight
from torch_rwkv import Rwkv7, Shift
from torch_scans import SCANS, MambaHeads
from torch_streams import add_streams, gathered, streamed, weights

EPSILON = 1e-5  # of every norm


class RMSNorm(nn.Module):
    """Zhang, Sennrich 2019 (arXiv:1910.07467): x / sqrt(mean(x^2) + epsilon) * weight."""

    def __init__(self, width, weight=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width)) if weight else None

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + EPSILON)
        return y if self.weight is None else y * self.weight


class LayerNormWithoutBias(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, None, EPSILON)


class LayerNormOfEachHead(nn.Module):
    """Normalizes each head separately, with separate weights (Command R+, StableLM 2)."""

    def __init__(self, heads, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(heads * width))
        self.heads, self.width = heads, width

    def forward(self, x):  # (..., heads, width)
        return F.layer_norm(x, (self.width,), None, None, EPSILON) * self.weight.view(self.heads, self.width)


def norm(m):
    """Over the residual width."""
    width = m["hidden"]
    return {
        "layer_norm": lambda: nn.LayerNorm(width, eps=EPSILON),
        "layer_norm_no_bias": lambda: LayerNormWithoutBias(width),
        "rms_norm": lambda: RMSNorm(width),
        "weight_free": lambda: nn.LayerNorm(width, eps=EPSILON, elementwise_affine=False),
    }[m["norm"]["kind"]]()


def has(m, part, layer):
    """Whether a pattern of layers includes this one."""
    return part in m and names(m[part]["layers"], layer)


def names(pattern, layer):
    if pattern == "all":
        return True
    if isinstance(pattern, list):
        return layer in pattern
    return layer >= pattern["from"] and (layer - pattern["from"]) % pattern["every"] == 0


def of_layer(m, layer):
    """The model description with the mixer and MLP of this layer."""
    m = dict(m)
    for mixer in m.get("mixers", []):
        if names(mixer["layers"], layer):
            m = {**m, "attention": mixer["attention"], "recurrent": mixer.get("recurrent")}
            m.pop("sliding_window", None)
            if "window" in mixer:
                m["sliding_window"] = {"window": mixer["window"], "layers": "all"}
    for mlp in m.get("mlps", []):
        if names(mlp["layers"], layer):
            m["mlp"] = {**m["mlp"], "width": mlp["width"]}
    return m


def rotated(x):
    """RoFormer (arXiv:2104.09864) with Llama's pairs (i, i + width/2): complex numbers, rotated by position x
    10000^(-2i/width). x: (sequences, heads, tokens, width)
    """
    tokens, width = x.shape[-2:]
    rate = 10000.0 ** (-torch.arange(0, width, 2) / width)
    turn = torch.polar(torch.ones(tokens, width // 2), torch.outer(torch.arange(tokens) * 1.0, rate))
    y = torch.complex(x[..., : width // 2], x[..., width // 2 :]) * turn
    return torch.cat((y.real, y.imag), dim=-1)


def alibi_slopes(heads):
    """Press et al. 2021 (arXiv:2108.12409): 2^(-8/n), its square, ... for n heads; if n is not a power of two, the slopes
    of the next lower power and, for the remaining heads, every other slope of the next higher power."""
    if math.log2(heads).is_integer():
        first = 2 ** (-8 / heads)
        return [first ** (i + 1) for i in range(heads)]
    below = 2 ** math.floor(math.log2(heads))
    return alibi_slopes(below) + alibi_slopes(2 * below)[0::2][: heads - below]


def sinusoids(tokens, width):
    """Vaswani et al. 2017, 3.5: sines at even indices, cosines at odd ones."""
    table = torch.zeros(tokens, width)
    angle = torch.outer(torch.arange(tokens) * 1.0, torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width)))
    table[:, 0::2], table[:, 1::2] = torch.sin(angle), torch.cos(angle)
    return table


def attended(m, layer, q, k, v, sinks=None, unread=None):
    """Causal attention, or an encoder's. q, k, v: (sequences, heads, tokens, width); returns concatenated heads.
    unread: keys that an indexer did not select."""
    tokens = q.shape[-2]
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    ago = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]
    if m["position"]["kind"] == "alibi":
        scores = scores - torch.tensor(alibi_slopes(q.shape[1]))[:, None, None] * ago.abs()
    hidden = (ago < 0) & (not m["attention"].get("bidirectional", False))
    if has(m, "sliding_window", layer):
        hidden = hidden | (ago >= m["sliding_window"]["window"])
    if has(m, "chunked_attention", layer):
        chunk = torch.arange(tokens) // m["chunked_attention"]["chunk"]
        hidden = hidden | (chunk[:, None] != chunk[None, :])
    scores = scores.masked_fill(hidden if unread is None else hidden | unread, -math.inf)
    if sinks is not None:  # gpt-oss: an extra softmax column without a value
        column = sinks[None, :, None, None].expand(*scores.shape[:-1], 1)
        p = torch.softmax(torch.cat((scores, column), dim=-1), dim=-1)[..., :-1]
    else:
        p = torch.softmax(scores, dim=-1)
    return (p @ v).transpose(1, 2).flatten(2)


def gate(m, value_width):
    """Gate of the heads' output, per head or per channel."""
    a = m["attention"]
    each = {"none": 0, "per_head": 1, "per_channel": value_width}[a.get("gate", "none")]
    return nn.Linear(m["hidden"], a["heads"] * each, bias=False) if each else None


def gated(gate, x, o):
    """arXiv:2505.06708: o under the sigmoid of a projection of x."""
    if gate is None:
        return o
    g = torch.sigmoid(gate(x))
    return o * g.repeat_interleave(o.shape[-1] // g.shape[-1], dim=-1)


def add_indexer(attention, m):
    for name, module in torch_indexer.modules(m, RMSNorm, EPSILON).items():
        setattr(attention, name, module)


class Sinks(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.sinks = nn.Parameter(torch.zeros(heads))


class RMSNormOfEachHead(nn.Module):
    """Of (sequences, tokens, heads, width), each head with separate weights (PLaMo 2)."""

    def __init__(self, heads, width):
        super().__init__()
        self.heads, self.width = heads, width
        self.weight = nn.Parameter(torch.ones(heads * width))

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + EPSILON)
        return y * self.weight.view(self.heads, self.width)


class GroupedAttention(nn.Module):
    def __init__(self, m, layer):
        super().__init__()
        a = m["attention"]
        self.m, self.layer, self.width = m, layer, a["head_width"]
        self.heads, self.kv_heads, self.kind = a["heads"], a["kv_heads"], a["qk_norm"]
        self.q = nn.Linear(m["hidden"], self.heads * self.width, bias=a["qkv_bias"])
        self.value_width, self.shares = a.get("value_width", self.width), a.get("shared_kv", False)
        if not self.shares:
            self.k = nn.Linear(m["hidden"], self.kv_heads * self.width, bias=a["qkv_bias"])
            self.v = nn.Linear(m["hidden"], self.kv_heads * self.value_width, bias=a["qkv_bias"])
        self.out = nn.Linear(self.heads * self.value_width, m["hidden"], bias=a["out_bias"])
        self.gate = gate(m, self.value_width)
        self.q_norm = self.qk_norm(self.heads)
        if not self.shares:
            self.k_norm = self.qk_norm(self.kv_heads)
        self.v_norm = RMSNorm(self.width, weight=False) if a.get("value_norm") else nn.Identity()
        self.core = Sinks(self.heads) if a.get("sinks") else None
        add_indexer(self, m)

    def qk_norm(self, heads):
        return {
            "none": nn.Identity,
            "weight_free": lambda: RMSNorm(self.width, weight=False),
            "per_head": lambda: RMSNorm(self.width),
            "per_head_bias": lambda: nn.LayerNorm(self.width, eps=EPSILON),
            "each_head": lambda: LayerNormOfEachHead(heads, self.width),
            "each_head_rms": lambda: RMSNormOfEachHead(heads, self.width),
            "full": lambda: RMSNorm(heads * self.width),
            "full_bias": lambda: nn.LayerNorm(heads * self.width, eps=EPSILON),
        }[self.kind]()

    def heads_of(self, x, heads, n):
        """(sequences, tokens, heads x width) to (sequences, heads, tokens, width), normalized as a whole or per head."""
        whole = self.kind.startswith("full")
        x = (n(x) if whole else x).unflatten(-1, (heads, self.width))
        return (x if whole else n(x)).transpose(1, 2)

    def keys_and_values(self, x, turned):
        """Those of the last preceding layer with the same window, or new ones, saved for later layers."""
        window = self.m["sliding_window"]["window"] if has(self.m, "sliding_window", self.layer) else 0
        if not self.shares:
            k = self.heads_of(self.k(x), self.kv_heads, self.k_norm)
            v = self.v_norm(self.v(x).unflatten(-1, (self.kv_heads, self.value_width)))
            self.m["kv"][window] = turned(k), v.transpose(1, 2)
        return self.m["kv"][window]

    def forward(self, x):
        q = self.heads_of(self.q(x), self.heads, self.q_norm)
        turned = rotated if self.m["position"]["kind"] == "rope" else (lambda t: t)
        q, (k, v) = turned(q), self.keys_and_values(x, turned)
        unread = torch_indexer.unread(self, self.m, x, None, turned)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        o = attended(self.m, self.layer, q, k, v, self.core.sinks if self.core else None, unread)
        return self.out(gated(self.gate, x, o))


class LatentAttention(nn.Module):
    """DeepSeek-V2 (arXiv:2405.04434), 2.1: keys and values from one latent row per token, and a rotary key shared by all
    heads."""

    def __init__(self, m, layer):
        super().__init__()
        a = m["attention"]
        self.m, self.layer, self.heads, self.kv_rank = m, layer, a["heads"], a["kv_rank"]
        self.nope, self.rope, self.value = a["nope_width"], a["rope_width"], a["v_width"]
        width = self.nope + self.rope
        if a["q_rank"]:
            self.q_down = nn.Linear(m["hidden"], a["q_rank"], bias=a["qkv_bias"])
            self.q_norm = RMSNorm(a["q_rank"])
            self.q_up = nn.Linear(a["q_rank"], self.heads * width, bias=False)
        else:
            self.q = nn.Linear(m["hidden"], self.heads * width, bias=False)
        self.kv_down = nn.Linear(m["hidden"], self.kv_rank + self.rope, bias=a["qkv_bias"])
        self.kv_norm = RMSNorm(self.kv_rank)
        self.kv_up = nn.Linear(self.kv_rank, self.heads * (self.nope + self.value), bias=False)
        self.out = nn.Linear(self.heads * self.value, m["hidden"], bias=a["out_bias"])
        self.gate = gate(m, self.value)
        add_indexer(self, m)

    def forward(self, x):
        low = self.q_norm(self.q_down(x)) if hasattr(self, "q_down") else None
        q = self.q(x) if low is None else self.q_up(low)
        q_plain, q_rope = q.unflatten(-1, (self.heads, -1)).transpose(1, 2).split((self.nope, self.rope), dim=-1)
        latent, k_rope = self.kv_down(x).split((self.kv_rank, self.rope), dim=-1)
        kv = self.kv_up(self.kv_norm(latent)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k_plain, v = kv.split((self.nope, self.value), dim=-1)
        turned = (lambda x: x) if self.m["position"]["kind"] == "none" else rotated
        k_rope = turned(k_rope[:, None]).expand(-1, self.heads, -1, -1)
        q, k = torch.cat((q_plain, turned(q_rope)), dim=-1), torch.cat((k_plain, k_rope), dim=-1)
        unread = torch_indexer.unread(self, self.m, x, low, turned)
        return self.out(gated(self.gate, x, attended(self.m, self.layer, q, k, v, unread=unread)))


ACTIVATIONS = {
    "relu": F.relu,
    "relu_squared": lambda x: F.relu(x).square(),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class Xielu(nn.Module):
    """arXiv:2411.13010, with beta = 0.5: holds two learned numbers."""

    def __init__(self):
        super().__init__()
        self.bends = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        up, down = F.softplus(self.bends[0]), 0.5 + F.softplus(self.bends[1])
        return torch.where(x > 0, up * x * x, down * (torch.expm1(x) - x)) + 0.5 * x


class ExpertLinear(nn.Module):
    def __init__(self, experts, width_in, width_out, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(experts, width_out, width_in))
        self.bias = nn.Parameter(torch.zeros(experts, width_out)) if bias else None

    def of(self, e):
        return lambda x: F.linear(x, self.weight[e], None if self.bias is None else self.bias[e])


class Mlp(nn.Module):
    """Dense, or a mixture: the router's best experts, weighted by a softmax over only their logits (Mixtral,
    arXiv:2401.04088, 2.1), and shared experts for every token. The first half of a shortcut block has both,
    the second a dense one. Identity experts (LongCat-Flash, arXiv:2509.01322, 2.1) get the same fraction of every token's
    top_k choices as they are of all experts, rounded down."""

    def __init__(self, m, layer):
        super().__init__()
        shortcut = m["block"] == "shortcut"
        self.m, self.moe = m, m["moe"] if has(m, "moe", layer) and not (shortcut and layer % 2) else None
        names = ("gate", "up", "down") if m["mlp"]["kind"] == "gated" else ("up", "down")
        hidden = m["hidden"]

        def matrices(prefix, width, make, outer=hidden):
            for name in names:
                setattr(self, prefix + name, make(width, outer) if name == "down" else make(outer, width))
            if m["mlp"]["activation"] == "xielu":
                setattr(self, prefix + "act", Xielu())

        if self.moe is None or shortcut:
            matrices("", m["mlp"]["width"], lambda i, o: nn.Linear(i, o, bias=m["mlp"]["bias"]))
        if m["mlp"].get("shift"):
            self.shift = Shift(hidden, 2 if m["mlp"].get("receptance") else 1)
        if m["mlp"].get("receptance"):
            self.receptance = nn.Linear(hidden, hidden, bias=False)
        if self.moe is None:
            return
        e, bias = self.moe["experts"], self.moe.get("expert_bias", False)
        self.returning = self.moe.get("zero_experts", 0)
        self.router = nn.Linear(hidden, e + self.returning, bias=self.moe.get("router_bias", False))
        latent = self.moe.get("latent_width", 0)
        if latent:
            self.latent_down, self.latent_up = (nn.Linear(*w, bias=False) for w in ((hidden, latent), (latent, hidden)))
        self.latent_norm = RMSNorm(latent) if self.moe.get("latent_norm") else nn.Identity()
        matrices("expert_", self.moe["width"], lambda i, o: ExpertLinear(e, i, o, bias), latent or hidden)
        if self.moe.get("shared_experts"):
            width = self.moe["shared_experts"] * self.moe["shared_width"]
            matrices("shared_", width, lambda i, o: nn.Linear(i, o, bias=False))
            if self.moe.get("shared_gate"):
                self.shared_weight = nn.Linear(hidden, 1, bias=False)

    def run(self, x, prefix, pick=lambda matrix: matrix):
        kind = self.m["mlp"]["activation"]
        act = getattr(self, prefix + "act") if kind == "xielu" else ACTIVATIONS[kind]
        up, down = pick(getattr(self, prefix + "up")), pick(getattr(self, prefix + "down"))
        if self.m["mlp"]["kind"] == "plain":
            return down(act(up(x)))
        return down(act(pick(getattr(self, prefix + "gate"))(x)) * up(x))

    def gates(self, x):
        """Weights of all experts, identity experts last; 0 if not selected."""
        logits, e, k = self.router(x), self.moe["experts"], self.moe["top_k"]
        returned = k * self.returning // (e + self.returning)
        which = logits[..., :e].topk(k - returned, dim=-1).indices
        if returned:
            which = torch.cat((which, e + logits[..., e:].topk(returned, dim=-1).indices), dim=-1)
        return torch.zeros_like(logits).scatter(-1, which, torch.softmax(logits.gather(-1, which), dim=-1))

    def forward(self, x):
        if hasattr(self, "receptance"):
            x, gate = self.shift(x)
            return torch.sigmoid(self.receptance(gate)) * self.run(x, "")
        if hasattr(self, "shift"):
            (x,) = self.shift(x)
        return self.run(x, "") if self.moe is None else self.mixture(x)

    def mixture(self, x):
        all_gates = self.gates(x)
        gates = all_gates[..., : self.moe["experts"]]
        narrow = "latent_width" in self.moe
        own = self.latent_norm(self.latent_down(x) if narrow else x)
        every = [self.run(own, "expert_", lambda w, e=e: w if isinstance(w, Xielu) else w.of(e))
                 for e in range(self.moe["experts"])]
        y = (torch.stack(every, dim=-1) * gates[..., None, :]).sum(dim=-1)
        y = self.latent_up(y) if narrow else y
        if self.returning:
            y = y + x * all_gates[..., self.moe["experts"] :].sum(dim=-1, keepdim=True)
        if not self.moe.get("shared_experts"):
            return y
        shared = self.run(x, "shared_")
        return y + (shared * torch.sigmoid(self.shared_weight(x)) if self.moe.get("shared_gate") else shared)


def compressed(m, layer):
    """Compressed attention has a window of tokens in every layer."""
    assert has(m, "sliding_window", layer)
    sinks = Sinks(m["attention"]["heads"]) if m["attention"].get("sinks") else None
    return CompressedAttention(m, m["sliding_window"]["window"], EPSILON, sinks)


class Ends(nn.Module):
    """Container for the modules of the embedding or the head, or for norms."""


class Block(nn.Module):
    def __init__(self, model, layer):
        super().__init__()
        m = of_layer(model, layer)
        self.parallel, self.place = m["block"] == "parallel", m["norm"]["placement"]
        kind = {"latent": LatentAttention, "grouped": GroupedAttention, "compressed": compressed,
                "none": lambda *_: Ends()}
        linear = has(m, "linear_attention", layer)
        self.attn = LinearAttention(m, layer) if linear else kind[m["attention"]["kind"]](m, layer)
        self.mixers = [] if isinstance(self.attn, Ends) else ["attn"]
        if m.get("recurrent"):
            name, make = {**RECURRENCES, **SCANS, "rwkv7": ("rwkv", Rwkv7)}[m["recurrent"]["kind"]]
            if m["recurrent"]["kind"] == "mamba" and "heads" in m["recurrent"]:
                make = MambaHeads
            setattr(self, name, make(m["hidden"], {**m["recurrent"], "values": m["values"], "epsilon": EPSILON,
                                                   "activation": ACTIVATIONS.get(m["mlp"]["activation"])}))
            self.mixers.append(name)
        has_mlp = has(m, "moe", layer) or m["mlp"].get("width", 0) > 0
        self.mlp = Mlp(m, layer) if has_mlp else None
        parts = ([self.attn] if self.mixers else []) + ([self.mlp] if has_mlp else [])
        self.altup, self.inputs, self.layer = None, m["inputs"], layer
        self.streams = 1 if m.get("altup") else m.get("streams", 1)
        for part in parts if self.streams > 1 else []:
            add_streams(part, self.streams, m["hidden"])
        if self.place in ("pre", "both"):
            for part in parts[: m["norm"]["per_layer"]]:
                part.norm = norm(m)
        if self.place != "pre":
            for part in parts:
                part.post_norm = norm(m)
        if m.get("altup"):
            add_altup(self, m, norm, ACTIVATIONS[m["mlp"]["activation"]])

    def mix(self, x):
        return sum(getattr(self, name)(x) for name in self.mixers)

    def sub_layer(self, f, norms, x):
        if self.streams > 1:
            return streamed(norms, lambda y: f(norms.norm(y)), x, EPSILON)
        if self.place == "pre":
            return x + f(norms.norm(x))
        if self.place == "post":
            return norms.post_norm(x + f(x))
        if self.place == "output":
            return x + norms.post_norm(f(x))
        return x + norms.post_norm(f(norms.norm(x)))

    def forward(self, x):
        if self.altup is not None:
            return alternating(self, x, self.inputs[self.layer])
        if self.parallel:
            second = getattr(self.mlp, "norm", self.attn.norm)
            return x + self.mix(self.attn.norm(x)) + self.mlp(second(x))
        if self.mixers:
            x = self.sub_layer(self.mix, self.attn, x)
        return x if self.mlp is None else self.sub_layer(self.mlp, self.mlp, x)


def shortcut_block(first, second, x):
    """LongCat-Flash (arXiv:2509.01322, 2.2): the mixture reads what the first half's MLP reads, and joins at the end."""
    x = first.sub_layer(first.mix, first.attn, x)
    y = first.mlp.norm(x)
    x = second.sub_layer(second.mix, second.attn, x + first.mlp.run(y, ""))
    return second.sub_layer(second.mlp, second.mlp, x) + first.mlp.mixture(y)


class Decoder(nn.Module):
    def __init__(self, m):
        super().__init__()
        # State shared across layers: the last indexer's choices; the values of RWKV-7's first layer; per-layer inputs;
        # keys and values by window.
        m = {**m, "choices": [], "values": [], "inputs": [], "kv": {}}
        self.position = m["position"]["kind"]
        hidden, width, self.embedding, self.head = m["hidden"], m.get("embedding_width", m["hidden"]), Ends(), Ends()
        self.embedding.tokens = nn.Embedding(m["vocabulary"], width)
        self.embedding.project = nn.Linear(width, hidden, bias=False) if width != hidden else nn.Identity()
        if self.position == "learned":
            self.embedding.positions = nn.Embedding(m["position"]["rows"], hidden)
        self.streams, self.types = m.get("streams", 1), m.get("token_types", 0)
        if self.types:
            self.embedding.types = nn.Embedding(self.types, hidden)
        self.embedding.norm = norm(m) if m["norm"]["embedding"] else nn.Identity()
        self.altup, self.inputs = m.get("altup", False), m["inputs"]
        if self.altup:
            self.streams = 1
            Inputs.add(self.embedding, m)
            self.embedding.streams, self.head.streams = (Projections(hidden, m["streams"]) for _ in range(2))
        self.shortcut = m["block"] == "shortcut"
        blocks = [Block(m, i) for i in range(m["layers"] * (2 if self.shortcut else 1))]
        self.own_layers = len(blocks)
        for _ in range(m.get("mtp", {}).get("modules", 0)):
            assert m["mtp"]["mixer_of"] == m["mtp"]["mlp_of"] and not self.shortcut
            blocks.append(Block(m, m["mtp"]["mixer_of"]))
            torch_further.add_input_and_head(blocks[-1], m, norm)
        self.layers = nn.ModuleList(blocks)
        if self.streams > 1:
            add_streams(self.head, self.streams, hidden, in_block=False)
        self.kind, self.pairs = m["head"].get("kind", "next_token"), m["head"].get("sentence_pair", False)
        if m["head"].get("pooler"):
            self.head.pooler = nn.Linear(hidden, hidden)
        if self.pairs:
            self.head.sentence_pair = nn.Linear(hidden, 2)
        if self.kind == "none":
            return
        self.act = ACTIVATIONS.get(m["mlp"]["activation"])
        if self.kind == "masked_token":
            self.head.transform, self.head.transform_norm = nn.Linear(hidden, hidden), norm(m)
        self.head.norm = norm(m) if m["norm"]["final"] else nn.Identity()
        self.head.project = nn.Linear(hidden, width, bias=False) if width != hidden else nn.Identity()
        self.head.logits = nn.Linear(width, m["vocabulary"], bias=m["head"]["bias"])
        if m["head"]["tied"]:
            self.head.logits.weight = self.embedding.tokens.weight

    def trunk(self, ids):
        """The result of the last block."""
        x = self.embedding.project(self.embedding.tokens(ids))
        if self.position == "learned":
            x = x + self.embedding.positions(torch.arange(ids.shape[1]))
        if self.position == "sinusoidal":
            x = x + sinusoids(*x.shape[1:])
        if self.types:  # segments of equal length
            x = x + self.embedding.types(torch.arange(ids.shape[1]) * self.types // ids.shape[1])
        x = self.embedding.norm(x)
        if self.streams > 1:
            x = x[..., None, :].expand(*x.shape[:-1], self.streams, x.shape[-1])
        if self.altup:
            self.inputs[:] = Inputs.of(self.embedding, ids, x)
            x = self.embedding.streams(x, x[..., None, :])
        own = self.layers[: self.own_layers]
        for block in [] if self.shortcut else own:
            x = block(x)
        for first, second in zip(own[::2], own[1::2]) if self.shortcut else []:
            x = shortcut_block(first, second, x)
        if self.streams > 1:
            x = gathered(x, *weights(self.head, x, EPSILON))
        return self.head.streams(x[..., 0, :], x[..., 1:, :]).mean(dim=-2) if self.altup else x

    def logits(self, x):
        if self.kind == "masked_token":  # BERT (arXiv:1810.04805), as in its code
            x = self.head.transform_norm(self.act(self.head.transform(x)))
        return self.head.logits(self.head.project(self.head.norm(x)))

    def pooled(self, x):
        """Result for the first token of each sequence; None without a pooler."""
        if not hasattr(self.head, "pooler"):
            return None
        y = torch.tanh(self.head.pooler(x[:, 0]))
        return self.head.sentence_pair(y) if self.pairs else y

    def forward(self, ids, targets=None):
        """Logits; without logits the pooler's result, or the last block's."""
        x = self.trunk(ids)
        if self.kind != "none":
            return self.logits(x)
        y = self.pooled(x)
        return x if y is None else y

    def loss(self, ids, targets):
        """Cross-entropy of the logits and/or the mean of other results, plus a fraction of the modules' losses."""
        x = self.trunk(ids)
        y = self.pooled(x)
        if self.kind == "none":
            return (x if y is None else y).mean()
        loss = F.cross_entropy(self.logits(x).flatten(0, 1), targets.flatten())
        modules = self.layers[self.own_layers :]
        if modules:
            further = torch_further.losses(self, modules, x, ids, targets)
            loss = loss + torch_further.SHARE * sum(further) / len(further)
        return loss if y is None else loss + y.mean()


def scales(net):
    """Names of the norms' weights, which are near 1."""
    kinds = (nn.LayerNorm, nn.GroupNorm, RMSNorm, LayerNormWithoutBias, LayerNormOfEachHead, RMSNormOfEachHead,
             Weight)
    return {f"{name}.weight" for name, module in net.named_modules() if isinstance(module, kinds)}
