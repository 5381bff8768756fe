#include "presets/arch_check.hpp"

#include <fmt/format.h>

#include "calc/parameters.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

/// Refuses with one sentence; carries the place along.
class Check {
 public:
  explicit Check(const std::string& where) : where_(where) {}

  void that(bool good, const std::string& sentence) const {
    if (!good) throw InputError(where_ + ": " + sentence);
  }
  void size(Count value, std::string_view name, Count least = 1, Count most = max_size) const {
    if (value >= least && value <= most) return;  // a sentence is made only where it is needed
    that(false, fmt::format("{}: expected a whole number from {} to {}, got {}", name, least, most, value));
  }

 private:
  const std::string& where_;
};

void check_grouped(const Arch& a, const Check& check) {
  check.size(a.kv_heads, "the number of KV heads");
  check.size(a.head_dim, "the head width");
  check.that(a.heads % a.kv_heads == 0,
             fmt::format("{} heads cannot share {} KV heads evenly; heads must be a multiple of KV heads", a.heads,
                         a.kv_heads));
  check.size(mul(a.heads, a.head_dim), "the attention width (heads x head width)");
  check.that(a.latent == Latent{}, "latent widths are given, but the attention kind is grouped; remove them");
}

void check_latent(const Arch& a, const Check& check) {
  check.size(a.latent.q_rank, "the latent q_rank", 0);
  check.size(a.latent.kv_rank, "the latent kv_rank");
  check.size(a.latent.nope_dim, "the latent nope_width", 0);
  check.size(a.latent.rope_dim, "the latent rope_width", 0);
  check.size(a.latent.nope_dim + a.latent.rope_dim, "the latent nope_width + rope_width");
  check.size(a.latent.v_dim, "the latent v_width");
  check.size(mul(a.heads, a.latent.nope_dim + a.latent.rope_dim), "the width of all latent queries");
  check.size(mul(a.heads, a.latent.nope_dim + a.latent.v_dim), "the width of all latent keys and values");
  check.that(a.qk_norm == QkNorm::none, "latent attention has norms of its own; qk_norm must be \"none\"");
  check.that(a.linear_layers.empty(), "latent and linear attention cannot be mixed; choose one");
}

void check_attention(const Arch& a, const Check& check) {
  check.size(a.heads, "the number of heads");
  if (a.attention == AttentionKind::latent) return check_latent(a, check);
  check_grouped(a, check);
}

void check_patterns(const Arch& a, const Check& check) {
  const std::string reach = a.local.reach.chunked ? "chunked attention" : "the sliding window";
  if (!a.local.layers.empty()) check.size(a.local.reach.tokens, reach);
  check.that(a.local.reach.tokens == 0 || !a.local.layers.empty(), reach + " is used by no layer; remove it");
  for (Count i = 0; i < a.layers; ++i)
    if (a.local.layers.contains(i) && a.linear_layers.contains(i))
      check.that(false, fmt::format("layer {} has both {} and linear attention; choose one", i,
                                    a.local.reach.chunked ? "chunked attention" : "a sliding window"));
}

void check_experts(const Arch& a, const Check& check) {
  const Moe& m = a.moe;
  check.size(m.experts, "the number of experts", 1, Count{1} << 20);
  check.size(m.width, "the experts' width");
  check.that(!m.layers.empty(), "the experts are used by no layer; remove them");
  check.that(
      m.top_k >= 1 && m.top_k <= m.experts,
      fmt::format("top_k: expected a whole number from 1 to {}, the number of experts, got {}", m.experts, m.top_k));
  check.size(m.shared_experts, "the number of shared experts", 0, Count{1} << 20);
  check.size(m.shared_width, "the shared experts' width", m.shared_experts > 0 ? 1 : 0,
             m.shared_experts > 0 ? max_size : 0);
  check.size(mul(m.shared_experts, m.shared_width), "the width of all shared experts", 0);
  check.that(!m.shared_gate || m.shared_experts > 0, "shared_gate is true, but there is no shared expert");
}

void check_mlp(const Arch& a, const Check& check) {
  if (a.has_experts()) check_experts(a, check);
  const bool dense = !a.has_experts() || a.moe.layers.size() < a.layers;
  check.that(dense || a.mlp_width == 0, "every layer has experts, so nothing uses the mlp width; remove it");
  if (dense) check.size(a.mlp_width, "the mlp width");
}

void check_norms(const Arch& a, const Check& check) {
  const bool parallel = a.block == BlockKind::parallel;
  check.that(!parallel || a.norm_placement == NormPlacement::pre,
             "a parallel block has its norms before the sub-layers; norm placement must be \"pre\"");
  if (parallel) return check.size(a.norms_per_layer, "the number of norms per layer of a parallel block", 1, 2);
  const Count expected = a.norm_placement == NormPlacement::both ? 4 : 2;
  check.that(a.norms_per_layer == expected,
             fmt::format("expected {} norms per layer with placement \"{}\" in a serial block, got {}", expected,
                         name(a.norm_placement), a.norms_per_layer));
}

void check_positions(const Arch& a, const Check& check) {
  const bool learned = a.position == Position::learned;
  check.that(learned || a.position_rows == 0,
             "position rows are given, but the positions are not learned; remove them");
  if (!learned) return;
  check.size(a.position_rows, "the number of position rows");
  check.that(a.position_rows >= a.context,
             fmt::format("{} position rows cannot serve a context of {}; give as many", a.position_rows, a.context));
}

/// Sizes that are each possible can still multiply to a count that no integer holds.
void check_count(const Arch& a, const Check& check) {
  try {
    parameters(a);
  } catch (const Overflow&) {
    check.that(false, "the parameter count passes 2^63; one of the sizes is absurd");
  }
}

}  // namespace

void check_arch(const Arch& arch, const std::string& where) {
  const Check check(where);
  check.size(arch.layers, "the number of layers", 1, max_layers);
  check.size(arch.hidden, "the hidden size");
  check.size(arch.vocabulary, "the vocabulary");
  check.size(arch.context, "the context length");
  check.size(arch.embedding_width, "the embedding width");
  check_attention(arch, check);
  check_patterns(arch, check);
  check_mlp(arch, check);
  check_norms(arch, check);
  check_positions(arch, check);
  check_count(arch, check);
}

}  // namespace llmcalc
