#include "presets/import/numerics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calc/elementary.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

double above_zero(const Config& c, std::string_view key, double otherwise) {
  const double x = c.number(key, otherwise);
  if (!(x > 0)) c.refuse(fmt::format("\"{}\": expected a number above 0, got {}", key, x));
  return x;
}

/// Like above_zero(), but returns 0 if the key is absent or null.
double above_zero_or_none(const Config& c, std::string_view key) { return c.has(key) ? above_zero(c, key, 1) : 0; }

RopeScaling scaling_named(const Config& c) {
  const std::string name = c.text("rope_type", c.text("type", "default"));
  for (const auto& [value, known] : choices<RopeScaling>)
    if (known == name) return value;
  c.refuse(fmt::format(
      "rotary scaling {} is not supported by the reference transformer; use linear, dynamic, yarn or llama3",
      in_quotes(name)));
}

/// YaRN's attention factor, 0.1 m ln(factor) + 1 (hf modeling_rope_utils.py, _compute_yarn_parameters).
double yarn_magnitude(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * elementary::log(factor) + 1; }

double yarn_attention_factor(const Config& c, double factor) {
  if (c.has("attention_factor")) return above_zero(c, "attention_factor", 1);
  const double m = c.number("mscale", 0), all = c.number("mscale_all_dim", 0);
  return m != 0 && all != 0 ? yarn_magnitude(factor, m) / yarn_magnitude(factor, all) : yarn_magnitude(factor, 1);
}

/// RoPE with the scaling in `c`, a rope_scaling or rope_parameters object. `base`: default for the RoPE base.
Rope stretched(const Config& c, const Arch& a, double base) {
  Rope r{.base = above_zero(c, "rope_theta", base), .scaling = scaling_named(c)};
  if (above_zero(c, "partial_rotary_factor", 1) != 1)
    c.refuse("\"partial_rotary_factor\": the reference transformer rotates whole heads; expected 1");
  if (r.scaling == RopeScaling::none) return r;
  r.factor = c.number("factor", 0);
  if (!(r.factor >= 1)) c.refuse(fmt::format("\"factor\": expected a number of at least 1, got {}", r.factor));
  r.trained = r.scaling == RopeScaling::dynamic ? a.context : c.size("original_max_position_embeddings", a.context);
  if (r.scaling == RopeScaling::llama3) {
    r.low = above_zero(c, "low_freq_factor", 1);
    r.high = above_zero(c, "high_freq_factor", 4);
    if (!(r.high > r.low)) c.refuse("\"high_freq_factor\" must be above \"low_freq_factor\"");
  }
  if (r.scaling == RopeScaling::yarn) {
    r.slow = above_zero(c, "beta_slow", 1);
    r.fast = above_zero(c, "beta_fast", 32);
    r.whole = c.flag("truncate", true);
    r.attention_factor = yarn_attention_factor(c, r.factor);
  }
  return r;
}

/// RoPE from rope_theta and rope_scaling, or (transformers 5) from rope_parameters.
Rope rope_numerics(const Config& c, const Arch& a, double usual_base) {
  const double base = above_zero(c, "rope_theta", usual_base);
  if (c.has("rope_parameters")) return stretched(c.object("rope_parameters"), a, base);
  if (c.has("rope_scaling")) return stretched(c.object("rope_scaling"), a, base);
  return {.base = base};
}

/// hf gpt2/modeling_gpt2.py: with scale_attn_weights false, scores are not scaled.
Numerics gpt2_numerics(const Config& c, const Arch&) {
  if (c.flag("scale_attn_by_inverse_layer_idx", false))
    c.refuse("\"scale_attn_by_inverse_layer_idx\" is true; the reference transformer scales every layer equally");
  return {.norm_epsilon = above_zero(c, "layer_norm_epsilon", 1e-5),
          .score_scale = c.flag("scale_attn_weights", true) ? 0.0 : 1.0};
}

/// hf llama/modeling_llama.py, mistral/, qwen2/, qwen3/, and Ouro: sets the epsilon of the RMSNorms, and RoPE.
Numerics llama_numerics(const Config& c, const Arch& a) {
  Numerics n{.norm_epsilon = above_zero(c, "rms_norm_eps", 1e-6)};
  n.rope = n.local_rope = rope_numerics(c, a, 10000);
  return n;
}

/// hf qwen3_moe/modeling_qwen3_moe.py: like Qwen 3. With norm_topk_prob, the weights of the selected experts sum to 1,
/// as in the reference transformer.
Numerics qwen3_moe_numerics(const Config& c, const Arch& a) {
  if (!c.flag("norm_topk_prob", false))
    c.refuse("\"norm_topk_prob\" is false; the reference transformer normalizes expert weights to a sum of 1");
  return llama_numerics(c, a);
}

/// hf mixtral/modeling_mixtral.py: like Llama, with other defaults; the weights of the selected experts sum to 1.
Numerics mixtral_numerics(const Config& c, const Arch& a) {
  Numerics n{.norm_epsilon = above_zero(c, "rms_norm_eps", 1e-5)};
  n.rope = n.local_rope = rope_numerics(c, a, 1000000);
  return n;
}

/// hf gemma/modeling_gemma.py: norms multiply by 1 + w, and embeddings are multiplied by the square root of the
/// hidden size.
Numerics gemma_numerics(const Config& c, const Arch& a) {
  Numerics n = llama_numerics(c, a);
  n.unit_offset = true;
  n.embedding_scale = std::sqrt(static_cast<double>(a.hidden));
  return n;
}

/// hf gemma2/modeling_gemma2.py: scores are scaled by query_pre_attn_scalar instead of the head width; scores and
/// logits are soft-capped.
Numerics gemma2_numerics(const Config& c, const Arch& a) {
  Numerics n = gemma_numerics(c, a);
  n.score_scale = 1 / std::sqrt(above_zero(c, "query_pre_attn_scalar", 256));
  const auto cap = [&](std::string_view key, double usual) { return c.is_null(key) ? 0 : above_zero(c, key, usual); };
  n.score_cap = cap("attn_logit_softcapping", 50);
  n.logit_cap = cap("final_logit_softcapping", 30);
  return n;
}

/// hf gemma3/modeling_gemma3.py: like Gemma 2, but without soft caps unless the config has them. Layers with a window
/// have a separate RoPE base without scaling.
Numerics gemma3_numerics(const Config& c, const Arch& a) {
  if (c.flag("use_bidirectional_attention", false))
    c.refuse("\"use_bidirectional_attention\" is true; the reference transformer has only causal attention");
  const bool by_type = c.has("rope_parameters") && c.object("rope_parameters").has("full_attention");
  Numerics n;
  if (by_type) {
    const Config both = c.object("rope_parameters");
    n.rope = stretched(both.object("full_attention"), a, 1000000);
    n.local_rope = both.has("sliding_attention") ? stretched(both.object("sliding_attention"), a, 10000) : n.rope;
  } else {
    n.rope = rope_numerics(c, a, 1000000);
    n.local_rope = {.base = above_zero(c, "rope_local_base_freq", 10000)};
  }
  n.norm_epsilon = above_zero(c, "rms_norm_eps", 1e-6);
  n.unit_offset = true;
  n.embedding_scale = std::sqrt(static_cast<double>(a.hidden));
  n.score_scale = 1 / std::sqrt(above_zero(c, "query_pre_attn_scalar", 256));
  n.score_cap = above_zero_or_none(c, "attn_logit_softcapping");
  n.logit_cap = above_zero_or_none(c, "final_logit_softcapping");
  return n;
}

using Read = Numerics (*)(const Config&, const Arch&);

const std::map<std::string, Read, std::less<>>& readers() {
  static const std::map<std::string, Read, std::less<>> all{
      {"gpt2", gpt2_numerics},          {"llama", llama_numerics}, {"mistral", llama_numerics},
      {"qwen2", llama_numerics},        {"qwen3", llama_numerics}, {"qwen3_moe", qwen3_moe_numerics},
      {"mixtral", mixtral_numerics},    {"gemma", gemma_numerics}, {"gemma2", gemma2_numerics},
      {"gemma3_text", gemma3_numerics}, {"ouro", llama_numerics}};
  return all;
}

}  // namespace

std::vector<std::string> runnable_types() {
  std::vector<std::string> names;
  for (const auto& [name, read] : readers()) names.push_back(name);
  return names;
}

Numerics numerics(const Config& c, const Arch& a) {
  const std::string type = c.text("model_type", "");
  const auto found = readers().find(type);
  if (found == readers().end())
    c.refuse(fmt::format("checkpoints of model_type {} cannot be run; supported types are {}", in_quotes(type),
                         fmt::join(runnable_types(), ", ")));
  for (const std::string_view key : {"hidden_act", "hidden_activation", "activation_function"})
    if (c.text(key, "") == "quick_gelu")
      c.refuse(fmt::format("\"{}\": the reference transformer does not support quick_gelu", key));
  return found->second(c, a);
}

}  // namespace llmcalc::import
