"""GPT-2, Llama, Qwen, Gemma and Ouro as described by their papers and config classes: modules and autograd, with the
tensor names of their checkpoints.

A third implementation, for scripts/torch-checkpoints: it shares no code with the program or torch_decoder.py.
Every class takes the config.json as a dictionary.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Conv1D(nn.Module):
    """GPT-2's linear layer, whose matrix has the shape (in, out)."""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width_in, width_out))
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x):
        return x @ self.weight + self.bias


def causal(tokens, window=0):
    """(tokens, tokens): 0 for visible tokens, -inf elsewhere; a window includes the token itself."""
    ago = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]
    hidden = (ago < 0) | ((ago >= window) if window else torch.zeros_like(ago, dtype=torch.bool))
    return torch.zeros(tokens, tokens).masked_fill(hidden, -math.inf)


# ---- GPT-2


class GPT2Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c["n_head"]
        self.scaled = c.get("scale_attn_weights", True)
        self.c_attn, self.c_proj = Conv1D(c["n_embd"], 3 * c["n_embd"]), Conv1D(c["n_embd"], c["n_embd"])
        n = c["n_positions"]
        self.register_buffer("bias", torch.tril(torch.ones(n, n)).view(1, 1, n, n))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2)
        if self.scaled:
            scores = scores / math.sqrt(q.shape[-1])
        p = torch.softmax(scores + causal(x.shape[1]), dim=-1)
        return self.c_proj((p @ v).transpose(1, 2).flatten(2))


class GPT2Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c.get("n_inner") or 4 * c["n_embd"]
        self.c_fc, self.c_proj = Conv1D(c["n_embd"], width), Conv1D(width, c["n_embd"])

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class GPT2Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        eps = c["layer_norm_epsilon"]
        self.ln_1, self.attn = nn.LayerNorm(c["n_embd"], eps=eps), GPT2Attention(c)
        self.ln_2, self.mlp = nn.LayerNorm(c["n_embd"], eps=eps), GPT2Mlp(c)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c["vocab_size"], c["n_embd"]), nn.Embedding(c["n_positions"], c["n_embd"])
        self.h = nn.ModuleList(GPT2Block(c) for _ in range(c["n_layer"]))
        self.ln_f = nn.LayerNorm(c["n_embd"], eps=c["layer_norm_epsilon"])

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# ---- rotary positions


def wave_lengths(base, width):
    """Positions per full turn of each pair."""
    return 2 * math.pi * base ** (torch.arange(0, width, 2) / width)


def llama3_rates(s, rates):
    """Llama 3.1: divides low frequencies by the factor, keeps high ones, interpolates between them."""
    out = []
    for rate in rates.tolist():
        wave = 2 * math.pi / rate
        if wave < s["original_max_position_embeddings"] / s["high_freq_factor"]:
            out.append(rate)
        elif wave > s["original_max_position_embeddings"] / s["low_freq_factor"]:
            out.append(rate / s["factor"])
        else:
            mix = (s["original_max_position_embeddings"] / wave - s["low_freq_factor"]) / (
                s["high_freq_factor"] - s["low_freq_factor"])
            out.append((1 - mix) * rate / s["factor"] + mix * rate)
    return torch.tensor(out)


def yarn_rates(s, rates, base, width):
    """YaRN (arXiv:2309.00071), 3.2: a ramp over pairs, from beta_fast turns to beta_slow, of interpolation."""
    original = s["original_max_position_embeddings"]

    def place(turns):
        return width * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(place(s.get("beta_fast", 32))), 0)
    high = min(math.ceil(place(s.get("beta_slow", 1))), width - 1)
    ramp = ((torch.arange(width // 2) - low) / max(high - low, 0.001)).clamp(0, 1)
    return rates / s["factor"] * ramp + rates * (1 - ramp)


def rates(scaling, base, width, length, context):
    """Radians per position of every pair, and the factor of cosines and sines."""
    s = scaling or {}
    kind = s.get("rope_type", s.get("type", "default"))
    if kind == "dynamic" and length > context:
        base = base * (s["factor"] * length / context - (s["factor"] - 1)) ** (width / (width - 2))
    plain = 2 * math.pi / wave_lengths(base, width)
    if kind == "linear":
        return plain / s["factor"], 1.0
    if kind == "llama3":
        return llama3_rates(s, plain), 1.0
    if kind == "yarn":
        return yarn_rates(s, plain, base, width), 0.1 * math.log(s["factor"]) + 1
    return plain, 1.0


def turned(x, rate, factor):
    """x: (sequences, heads, tokens, width), pairs (i, i + width/2)."""
    angle = torch.arange(x.shape[-2])[:, None] * rate[None, :]
    cosine, sine = (torch.cat((f(angle), f(angle)), dim=-1) * factor for f in (torch.cos, torch.sin))
    left, right = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-right, left), dim=-1) * sine


# ---- Llama and derived families


class RMSNorm(nn.Module):
    def __init__(self, width, eps, one_more):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.eps, self.one_more = eps, one_more

    def forward(self, x):
        scale = 1 + self.weight if self.one_more else self.weight
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * scale


class Attention(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        self.c, self.width, kind = c, head_width(c), c["model_type"]
        self.local = is_local(c, layer)
        heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
        bias = c.get("attention_bias", False) or kind == "qwen2"
        self.q_proj = nn.Linear(c["hidden_size"], heads * self.width, bias=bias)
        self.k_proj = nn.Linear(c["hidden_size"], kv * self.width, bias=bias)
        self.v_proj = nn.Linear(c["hidden_size"], kv * self.width, bias=bias)
        self.o_proj = nn.Linear(heads * self.width, c["hidden_size"], bias=bias and kind != "qwen2")
        if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
            self.q_norm, self.k_norm = (RMSNorm(self.width, c["rms_norm_eps"], is_gemma(c)) for _ in range(2))

    def heads_of(self, x, norm=None):
        x = x.unflatten(-1, (-1, self.width))
        return (x if norm is None else norm(x)).transpose(1, 2)

    def turns(self, tokens):
        c = self.c
        if self.local and c["model_type"] == "gemma3_text":
            return rates(None, c["rope_local_base_freq"], self.width, tokens, 0)
        return rates(c.get("rope_scaling"), c["rope_theta"], self.width, tokens, c["max_position_embeddings"])

    def forward(self, x):
        c, tokens = self.c, x.shape[1]
        q = self.heads_of(self.q_proj(x), getattr(self, "q_norm", None))
        k = self.heads_of(self.k_proj(x), getattr(self, "k_norm", None))
        v = self.heads_of(self.v_proj(x))
        q, k = (turned(t, *self.turns(tokens)) for t in (q, k))
        group = q.shape[1] // k.shape[1]
        k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) * c.get("query_pre_attn_scalar", self.width) ** -0.5
        if c.get("attn_logit_softcapping"):
            scores = c["attn_logit_softcapping"] * torch.tanh(scores / c["attn_logit_softcapping"])
        p = torch.softmax(scores + causal(tokens, c["sliding_window"] if self.local else 0), dim=-1)
        return self.o_proj((p @ v).transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        bias = c.get("mlp_bias", False)
        self.gate_proj, self.up_proj = (nn.Linear(c["hidden_size"], c["intermediate_size"], bias=bias) for _ in range(2))
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=bias)
        self.tanh = is_gemma(c)

    def forward(self, x):
        gate = self.gate_proj(x)
        return self.down_proj((F.gelu(gate, approximate="tanh") if self.tanh else F.silu(gate)) * self.up_proj(x))


class MixtralExpert(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False) for _ in range(2))
        self.w2 = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Mixture(nn.Module):
    """Softmax over all experts, then the best k, with weights normalized to a sum of 1."""

    def __init__(self, c):
        super().__init__()
        mixtral = c["model_type"] == "mixtral"
        count = c["num_local_experts" if mixtral else "num_experts"]
        self.k = c["num_experts_per_tok"]
        self.gate = nn.Linear(c["hidden_size"], count, bias=False)
        one = (lambda: MixtralExpert(c)) if mixtral else (
            lambda: Mlp({**c, "intermediate_size": c["moe_intermediate_size"]}))
        self.experts = nn.ModuleList(one() for _ in range(count))

    def forward(self, x):
        share, which = torch.softmax(self.gate(x), dim=-1).topk(self.k, dim=-1)
        share = share / share.sum(dim=-1, keepdim=True)
        y = torch.zeros_like(x)
        for place in range(self.k):
            for e, expert in enumerate(self.experts):
                y = y + (which[..., place] == e)[..., None] * share[..., place, None] * expert(x)
        return y


class Block(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        self.self_attn, self.four = Attention(c, layer), four_norms(c)
        self.second = "block_sparse_moe" if c["model_type"] == "mixtral" else "mlp"
        setattr(self, self.second, Mixture(c) if c["model_type"] in ("mixtral", "qwen3_moe") else Mlp(c))
        for name in self.four or ["input_layernorm", "post_attention_layernorm"]:
            setattr(self, name, RMSNorm(c["hidden_size"], c["rms_norm_eps"], is_gemma(c)))

    def forward(self, x):
        if not self.four:
            x = x + self.self_attn(self.input_layernorm(x))
            return x + getattr(self, self.second)(self.post_attention_layernorm(x))
        before, behind, before_mlp, behind_mlp = (getattr(self, name) for name in self.four)
        x = x + behind(self.self_attn(before(x)))
        return x + behind_mlp(self.mlp(before_mlp(x)))


class Body(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Block(c, i) for i in range(c["num_hidden_layers"]))
        self.norm = RMSNorm(c["hidden_size"], c["rms_norm_eps"], is_gemma(c))
        self.scale = math.sqrt(c["hidden_size"]) if is_gemma(c) else 1.0
        self.runs = c.get("total_ut_steps", 1)
        if c["model_type"] == "ouro":
            self.early_exit_gate = nn.Linear(c["hidden_size"], 1)

    def forward(self, ids):
        x = self.embed_tokens(ids) * self.scale
        for _ in range(self.runs):
            for layer in self.layers:
                x = layer(x)
            x = self.norm(x)
        return x


class Llama(nn.Module):
    """Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma 1 to 3, and Ouro with all recurrent passes."""

    def __init__(self, c):
        super().__init__()
        self.model, self.c = Body(c), c
        if not c["tie_word_embeddings"]:
            self.lm_head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)

    def forward(self, ids):
        table = self.model.embed_tokens if self.c["tie_word_embeddings"] else self.lm_head
        logits = self.model(ids) @ table.weight.T
        cap = self.c.get("final_logit_softcapping")
        return cap * torch.tanh(logits / cap) if cap else logits


def four_norms(c):
    """The names of four norms, before and after attention and the MLP; None for missing ones."""
    if c["model_type"] == "ouro":
        return ["input_layernorm", "input_layernorm_2", "post_attention_layernorm", "post_attention_layernorm_2"]
    if c["model_type"] not in ("gemma2", "gemma3_text"):
        return []
    return ["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"]


def is_gemma(c):
    return c["model_type"].startswith("gemma")


def head_width(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def is_local(c, layer):
    """Mistral: every layer; Gemma 2: even ones; Gemma 3: all but every sixth, or as in layer_types."""
    if not c.get("sliding_window"):
        return False
    if "layer_types" in c:
        return c["layer_types"][layer] == "sliding_attention"
    kind = c["model_type"]
    return kind == "mistral" or (kind == "gemma2" and layer % 2 == 0) or (kind == "gemma3_text" and (layer + 1) % 6 != 0)


def model_of(c):
    return (GPT2 if c["model_type"] == "gpt2" else Llama)(c)
