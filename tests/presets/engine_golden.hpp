#pragma once
/// Golden cases (presets/golden.json) read for the engine, by a reader of its own.

#include <string>
#include <string_view>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "presets/builtin.hpp"
#include "tests/catch.hpp"
#include "text/json.hpp"

namespace llmcalc::test {

inline std::string digits(Wide n) {
  std::string s;
  do s.insert(s.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
  while ((n /= 10) != 0);
  return s;
}
inline std::string digits(Flops f) { return digits(f.value); }
inline std::string digits(Bytes b) { return std::to_string(b.value); }

/// Calls act(inputs, value) for every case of a quantity and returns how many there were.
template <typename Act>
int golden(std::string_view quantity, const Act& act) {
  static const json::Value cases = json::parse(builtin_golden(), "golden.json");
  int n = 0;
  for (const json::Value& c : cases) {
    if (c.at("quantity").get_ref<const std::string&>() != quantity) continue;
    const auto id = c.at("id").get<std::string>();
    CAPTURE(id);
    act(c.at("inputs"), c.at("value").get<std::string>());
    ++n;
  }
  return n;
}

inline Count count(const json::Value& in, const char* key) { return in.at(key).get<Count>(); }
inline bool flag(const json::Value& in, const char* key) { return in.at(key).get<bool>(); }
inline double real(const json::Value& in, const char* key) { return in.at(key).get<double>(); }
inline std::string text(const json::Value& in, const char* key) { return in.at(key).get<std::string>(); }
inline bool has(const json::Value& in, const char* key) { return in.contains(key) && !in.at(key).is_null(); }

inline Arch golden_arch(const json::Value& m) {
  Arch a;
  a.layers = count(m, "n_layers"), a.hidden = a.embedding_width = count(m, "d_model"), a.vocabulary = count(m, "vocab");
  a.heads = count(m, "n_heads"), a.kv_heads = count(m, "n_kv_heads"), a.head_dim = count(m, "d_head");
  a.mlp_width = count(m, "d_ff"), a.mlp = text(m, "mlp") == "glu" ? MlpKind::gated : MlpKind::plain;
  a.norm = text(m, "norm") == "rmsnorm" ? NormKind::rms_norm : NormKind::layer_norm;
  a.norms_per_layer = count(m, "norms_per_layer");
  if (a.norms_per_layer == 1) a.block = BlockKind::parallel;
  if (a.norms_per_layer == 4) a.norm_placement = NormPlacement::both;
  a.final_norm = flag(m, "final_norm"), a.embedding_norm = flag(m, "embed_norm");
  const std::string qk = text(m, "qk_norm"), pos = text(m, "pos");
  a.qk_norm = qk == "full" ? QkNorm::full : qk == "per_head" ? QkNorm::per_head : QkNorm::none;
  a.qkv_bias = flag(m, "qkv_bias"), a.attention_out_bias = flag(m, "attn_out_bias"), a.mlp_bias = flag(m, "mlp_bias");
  a.head_bias = flag(m, "head_bias"), a.tied_head = flag(m, "tied");
  a.position = pos == "learned" ? Position::learned : pos == "alibi" ? Position::alibi : Position::rope;
  a.position_rows = count(m, "max_pos");
  if (text(m, "attention") == "mla") {
    const json::Value& l = m.at("mla");
    a.attention = AttentionKind::latent;
    a.latent = {count(l, "q_rank"), count(l, "kv_rank"), count(l, "d_nope"), count(l, "d_rope"), count(l, "d_v")};
  }
  if (has(m, "moe")) {
    const json::Value& e = m.at("moe");
    a.moe.experts = count(e, "n_experts"), a.moe.top_k = count(e, "top_k"), a.moe.width = count(e, "d_ff_expert");
    a.moe.shared_experts = count(e, "n_shared"), a.moe.shared_width = count(e, "d_ff_shared");
    a.moe.shared_gate = flag(e, "shared_gate"), a.moe.router_correction = flag(e, "router_bias");
    a.moe.layers = LayerSet::every(count(e, "first_dense"), 1, a.layers);
  }
  return a;
}
inline Arch model(const json::Value& in) { return golden_arch(in.at("model")); }

/// The golden counts take a router's stored correction bias for parameters; an Arch calls it a buffer.
inline Count corrections(const Arch& a) {
  return a.moe.router_correction ? a.moe.experts * static_cast<Count>(a.moe.layers.size()) : 0;
}

/// A format of that many bytes per number.
inline DType bytes_wide(Count p) {
  return p == 1 ? dtypes::fp8 : p == 2 ? dtypes::bf16 : p == 4 ? dtypes::fp32 : *dtype("fp64");
}

inline AttentionFlops convention(const json::Value& in, const char* key) {
  const std::string s = text(in, key);
  REQUIRE((s == "full" || s == "causal_half" || s == "causal_exact"));
  return s == "full"          ? AttentionFlops::full
         : s == "causal_half" ? AttentionFlops::causal_half
                              : AttentionFlops::causal_exact;
}

}  // namespace llmcalc::test
