#pragma once
/// The KV cache, layer by layer: rows of heads, or latent rows; layers with a window or chunks keep that many tokens
/// and overwrite the oldest.

#include <memory>
#include <vector>

#include "calc/block.hpp"
#include "model/arena.hpp"
#include "model/backend.hpp"

namespace llmcalc::model {

struct DecodingStep;

struct LayerCache {
  Tensor k, v;         ///< grouped: (sequence, slot, KV heads x width); latent: k holds the latent rows; expanded: k
                       ///< holds keys and values without positions, v the rotary keys of every head
  Count capacity = 0;  ///< slots
};

class Cache {
 public:
  /// Allocates all layers for `tokens` tokens of each sequence; `expanded`: latent attention keeps heads, not latent
  /// rows.
  Cache(Backend& backend, Arena& arena, const Arch& arch, bool expanded, Count sequences, Count tokens)
      : backend_(backend), arena_(arena), sequences_(sequences), tokens_(tokens) {
    const LayerKinds kinds = layer_kinds(arch);
    for (Count i = 0; i < arch.layers; ++i)
      for (const Op& op : block_ops(arch, kinds.kinds[kind_index(kinds, i)], {.expanded_cache = expanded}))
        if (const Attention* a = std::get_if<Attention>(&op.shape)) layers_.push_back(made(*a));
  }

  const LayerCache& layer(Count i) const { return layers_[static_cast<std::size_t>(i)]; }

 private:
  LayerCache made(const Attention& s) {
    const Count capacity = s.reach.held(tokens_);
    const auto rows = [&](Count width) {
      return arena_.make(Purpose::kv_cache, "attn.core", mul(sequences_, capacity, width) * backend_.number());
    };
    if (s.caches_latent()) return {rows(s.latent_dim), nullptr, capacity};
    if (s.latent_dim == 0) return {rows(mul(s.kv_heads, s.qk_dim)), rows(mul(s.kv_heads, s.v_dim)), capacity};
    // Expanded latent heads: keys without positions lie with the values.
    const Count plain = s.qk_dim - s.rope_dim;
    return {rows(mul(s.kv_heads, plain + s.v_dim)), rows(mul(s.kv_heads, s.rope_dim)), capacity};
  }

  Backend& backend_;
  Arena& arena_;
  Count sequences_, tokens_;
  std::vector<LayerCache> layers_;

 public:
  std::shared_ptr<DecodingStep> decoding;  ///< kept between tokens; destroyed before the layers
};

}  // namespace llmcalc::model
