#include "learn/tensor_names.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace llmcalc::model {
namespace {

/// hf gpt2/modeling_gpt2.py: Conv1D matrices are stored as (in, out); q, k and v are one tensor. bias and masked_bias
/// store the causal mask, which older checkpoints include.
constexpr std::array gpt2_modules{
    StoredModule{"embedding.tokens", "wte"},
    StoredModule{"embedding.positions", "wpe"},
    StoredModule{"layers.#.attn.norm", "h.#.ln_1"},
    StoredModule{"layers.#.attn.q", "h.#.attn.c_attn", true, 0, 3},
    StoredModule{"layers.#.attn.k", "h.#.attn.c_attn", true, 1, 3},
    StoredModule{"layers.#.attn.v", "h.#.attn.c_attn", true, 2, 3},
    StoredModule{"layers.#.attn.out", "h.#.attn.c_proj", true},
    StoredModule{"layers.#.mlp.norm", "h.#.ln_2"},
    StoredModule{"layers.#.mlp.up", "h.#.mlp.c_fc", true},
    StoredModule{"layers.#.mlp.down", "h.#.mlp.c_proj", true},
    StoredModule{"head.norm", "ln_f"},
    StoredModule{"head.logits", "lm_head"},
};
constexpr std::array<std::string_view, 2> gpt2_prefixes{"", "transformer."};
constexpr std::array<std::string_view, 3> gpt2_ignored{"h.#.attn.bias", "h.#.attn.masked_bias", "lm_head.weight"};

/// hf llama/modeling_llama.py and the models derived from it: mistral, qwen2, qwen3 (q_norm and k_norm), gemma.
constexpr std::array llama_modules{
    StoredModule{"embedding.tokens", "model.embed_tokens"},
    StoredModule{"layers.#.attn.norm", "model.layers.#.input_layernorm"},
    StoredModule{"layers.#.attn.q", "model.layers.#.self_attn.q_proj"},
    StoredModule{"layers.#.attn.k", "model.layers.#.self_attn.k_proj"},
    StoredModule{"layers.#.attn.v", "model.layers.#.self_attn.v_proj"},
    StoredModule{"layers.#.attn.q_norm", "model.layers.#.self_attn.q_norm"},
    StoredModule{"layers.#.attn.k_norm", "model.layers.#.self_attn.k_norm"},
    StoredModule{"layers.#.attn.out", "model.layers.#.self_attn.o_proj"},
    StoredModule{"layers.#.mlp.norm", "model.layers.#.post_attention_layernorm"},
    StoredModule{"layers.#.mlp.gate", "model.layers.#.mlp.gate_proj"},
    StoredModule{"layers.#.mlp.up", "model.layers.#.mlp.up_proj"},
    StoredModule{"layers.#.mlp.down", "model.layers.#.mlp.down_proj"},
    StoredModule{"head.norm", "model.norm"},
    StoredModule{"head.logits", "lm_head"},
};
constexpr std::array<std::string_view, 1> llama_prefixes{""};
constexpr std::array<std::string_view, 2> llama_ignored{"model.layers.#.self_attn.rotary_emb.inv_freq",
                                                        "lm_head.weight"};

/// hf gemma2/modeling_gemma2.py, gemma3/modeling_gemma3.py: four norms per layer, one of which has a name that Llama
/// uses for a different norm. In a Gemma 3 checkpoint with a vision encoder, the text model's names have the prefix
/// "language_model.".
constexpr std::array gemma2_own{
    StoredModule{"layers.#.attn.post_norm", "model.layers.#.post_attention_layernorm"},
    StoredModule{"layers.#.mlp.norm", "model.layers.#.pre_feedforward_layernorm"},
    StoredModule{"layers.#.mlp.post_norm", "model.layers.#.post_feedforward_layernorm"},
};
constexpr std::array<std::string_view, 2> gemma2_prefixes{"", "language_model."};
constexpr std::array<std::string_view, 3> gemma2_ignored{"lm_head.weight", "vision_tower.*", "multi_modal_projector.*"};

/// hub ByteDance/Ouro-1.4B, modeling_ouro.py: the norms after attention and MLP, and a gate.
constexpr std::array ouro_own{
    StoredModule{"layers.#.attn.post_norm", "model.layers.#.input_layernorm_2"},
    StoredModule{"layers.#.mlp.post_norm", "model.layers.#.post_attention_layernorm_2"},
    StoredModule{"head.exit_gate", "model.early_exit_gate"},
};

/// hf qwen3_moe/modeling_qwen3_moe.py, mixtral/modeling_mixtral.py: every expert has its own matrices.
constexpr std::array qwen3_moe_own{
    StoredModule{"layers.#.mlp.router", "model.layers.#.mlp.gate"},
    StoredModule{"layers.#.mlp.expert_gate", "model.layers.#.mlp.experts.@.gate_proj"},
    StoredModule{"layers.#.mlp.expert_up", "model.layers.#.mlp.experts.@.up_proj"},
    StoredModule{"layers.#.mlp.expert_down", "model.layers.#.mlp.experts.@.down_proj"},
};
constexpr std::array mixtral_own{
    StoredModule{"layers.#.mlp.router", "model.layers.#.block_sparse_moe.gate"},
    StoredModule{"layers.#.mlp.expert_gate", "model.layers.#.block_sparse_moe.experts.@.w1"},
    StoredModule{"layers.#.mlp.expert_up", "model.layers.#.block_sparse_moe.experts.@.w3"},
    StoredModule{"layers.#.mlp.expert_down", "model.layers.#.block_sparse_moe.experts.@.w2"},
};

constexpr std::array tables{
    NameTable{"gpt2", {}, gpt2_modules, gpt2_prefixes, gpt2_ignored},
    NameTable{"llama mistral qwen2 qwen3 gemma", {}, llama_modules, llama_prefixes, llama_ignored},
    NameTable{"qwen3_moe", qwen3_moe_own, llama_modules, llama_prefixes, llama_ignored},
    NameTable{"mixtral", mixtral_own, llama_modules, llama_prefixes, llama_ignored},
    NameTable{"ouro", ouro_own, llama_modules, llama_prefixes, llama_ignored},
    NameTable{"gemma2 gemma3_text", gemma2_own, llama_modules, gemma2_prefixes, gemma2_ignored},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether `name` equals `pattern` with # replaced by a number, which is stored in `layer`.
bool matches(std::string_view pattern, std::string_view name, std::string& layer) {
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c == '*') return true;
    if (c != '#') {
      if (at >= name.size() || name[at++] != c) return false;
      continue;
    }
    const std::size_t first = at;
    while (at < name.size() && is_digit(name[at])) ++at;
    if (at == first) return false;
    layer = name.substr(first, at - first);
  }
  return at == name.size();
}

std::string with_numbers(std::string_view pattern, const std::string& layer, Count expert) {
  std::string text;
  for (const char c : pattern) {
    if (c == '#')
      text += layer;
    else if (c == '@')
      text += std::to_string(expert);
    else
      text += c;
  }
  return text;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

const NameTable* name_table(std::string_view model_type) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const NameTable& t) { return has_word(t.model_types, model_type); });
  return found == tables.end() ? nullptr : &*found;
}

StoredPlace stored_place(const NameTable& table, std::string_view weight, Count expert) {
  const std::size_t dot = weight.rfind('.');
  std::string layer;
  for (const auto modules : {table.own, table.modules})
    for (const StoredModule& m : modules)
      if (matches(m.ours, weight.substr(0, dot), layer))
        return {with_numbers(m.stored, layer, expert) + std::string(weight.substr(dot)), m.transposed, m.part, m.parts};
  throw std::logic_error("no checkpoint name for " + std::string(weight));
}

bool is_ignored(const NameTable& table, std::string_view name) {
  std::string layer;
  return std::any_of(table.ignored.begin(), table.ignored.end(),
                     [&](std::string_view pattern) { return matches(pattern, name, layer); });
}

}  // namespace llmcalc::model
