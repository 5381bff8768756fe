"""Checkpoint headers of 10^5 tensors, one safetensors and one GGUF file, with holes instead of data. The files take 20 MB
of disk space, but are 300 and 90 GB long, so the folder needs a file system with sparse files.

The model has the sizes of Qwen3-30B-A3B, but 65 layers of 512 experts. GGUF files store a layer's experts in one tensor;
here each expert is a tensor "blk.0.ffn_up_exps.0.weight".
"""
import json
import math
import os
import struct
import sys
import time

LAYERS, EXPERTS, HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, VOCABULARY = 65, 512, 2048, 768, 32, 4, 128, 151936
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "attention_bias": False,
    "decoder_sparse_step": 1,
    "head_dim": HEAD,
    "hidden_act": "silu",
    "hidden_size": HIDDEN,
    "intermediate_size": 6144,
    "max_position_embeddings": 40960,
    "mlp_only_layers": [],
    "moe_intermediate_size": WIDTH,
    "norm_topk_prob": True,
    "num_attention_heads": HEADS,
    "num_experts": EXPERTS,
    "num_experts_per_tok": 8,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": KV_HEADS,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": VOCABULARY,
}
GGUF_KEYS = {
    "general.architecture": "qwen3moe",
    "qwen3moe.block_count": LAYERS,
    "qwen3moe.context_length": 40960,
    "qwen3moe.embedding_length": HIDDEN,
    "qwen3moe.feed_forward_length": 6144,
    "qwen3moe.attention.head_count": HEADS,
    "qwen3moe.attention.head_count_kv": KV_HEADS,
    "qwen3moe.attention.key_length": HEAD,
    "qwen3moe.attention.value_length": HEAD,
    "qwen3moe.attention.layer_norm_rms_epsilon": 1e-06,
    "qwen3moe.expert_count": EXPERTS,
    "qwen3moe.expert_used_count": 8,
    "qwen3moe.expert_feed_forward_length": WIDTH,
}
# The tensors of a layer: name in safetensors files, name in GGUF files, shape.
LAYER = [
    ("input_layernorm", "attn_norm", [HIDDEN]),
    ("self_attn.q_proj", "attn_q", [HEADS * HEAD, HIDDEN]),
    ("self_attn.k_proj", "attn_k", [KV_HEADS * HEAD, HIDDEN]),
    ("self_attn.v_proj", "attn_v", [KV_HEADS * HEAD, HIDDEN]),
    ("self_attn.o_proj", "attn_output", [HIDDEN, HEADS * HEAD]),
    ("self_attn.q_norm", "attn_q_norm", [HEAD]),
    ("self_attn.k_norm", "attn_k_norm", [HEAD]),
    ("post_attention_layernorm", "ffn_norm", [HIDDEN]),
    ("mlp.gate", "ffn_gate_inp", [EXPERTS, HIDDEN]),
]
EXPERT = [
    ("gate_proj", "ffn_gate_exps", [WIDTH, HIDDEN]),
    ("up_proj", "ffn_up_exps", [WIDTH, HIDDEN]),
    ("down_proj", "ffn_down_exps", [HIDDEN, WIDTH]),
]
OUTSIDE = [
    ("model.embed_tokens", "token_embd", [VOCABULARY, HIDDEN]),
    ("model.norm", "output_norm", [HIDDEN]),
    ("lm_head", "output", [VOCABULARY, HIDDEN]),
]


def tensors():
    """The name in safetensors files, the name in GGUF files and the shape of every tensor."""
    for name, gguf, shape in OUTSIDE:
        yield f"{name}.weight", f"{gguf}.weight", shape
    for layer in range(LAYERS):
        for name, gguf, shape in LAYER:
            yield f"model.layers.{layer}.{name}.weight", f"blk.{layer}.{gguf}.weight", shape
        for expert in range(EXPERTS):
            for name, gguf, shape in EXPERT:
                yield (f"model.layers.{layer}.mlp.experts.{expert}.{name}.weight",
                       f"blk.{layer}.{gguf}.{expert}.weight", shape)


def write(path, header, size):
    """Writes the header and a hole up to `size`."""
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(size)


def write_safetensors(folder):
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, _, shape in tensors():
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    write(os.path.join(folder, "model.safetensors"), struct.pack("<Q", len(text)) + text, 8 + len(text) + end)


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf_pair(key, value):
    if isinstance(value, str):
        return gguf_text(key) + struct.pack("<I", 8) + gguf_text(value)
    return gguf_text(key) + (struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value))


def write_gguf(folder):
    """Matrices are Q4_K, with 144 bytes per 256 elements, vectors F32. The file has its own folder, because llmcalc compares
    the keys of a GGUF file with a config.json in the same folder."""
    os.makedirs(os.path.join(folder, "gguf"), exist_ok=True)
    every = list(tensors())
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(every), len(GGUF_KEYS))]
    parts += [gguf_pair(key, value) for key, value in GGUF_KEYS.items()]
    end = 0
    for _, name, shape in every:
        numbers, matrix = math.prod(shape), len(shape) == 2
        parts.append(gguf_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 12 if matrix else 0, end))
        end += numbers // 256 * 144 if matrix else numbers * 4
    header = b"".join(parts)
    write(os.path.join(folder, "gguf", "model.gguf"), header, len(header) + -len(header) % 32 + end)


def write_both(folder):
    """Writes both files and returns their paths, in a child process, whose memory is not counted as that of later commands."""
    os.makedirs(folder, exist_ok=True)
    child = os.fork()
    if child == 0:
        write_safetensors(folder)
        write_gguf(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("large-headers: cannot write the files")
    return os.path.join(folder, "model.safetensors"), os.path.join(folder, "gguf", "model.gguf")


def json_seconds(path, runs):
    """CPU seconds that Python's json module takes for a safetensors header."""
    with open(path, "rb") as file:
        text = file.read(struct.unpack("<Q", file.read(8))[0])
    seconds = []
    for _ in range(runs):
        began = time.process_time()
        json.loads(text)
        seconds.append(time.process_time() - began)
    return min(seconds)
