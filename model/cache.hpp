#pragma once
/// Keys and values of the tokens so far, layer by layer: rows of heads, or latent rows; a window's layers keep a
/// window's worth and write over the oldest.

#include <memory>
#include <vector>

#include "calc/op.hpp"
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
  Cache(Backend& backend, Arena& arena, Count sequences, Count tokens, Count layers)
      : backend_(backend),
        arena_(arena),
        sequences_(sequences),
        tokens_(tokens),
        layers_(static_cast<std::size_t>(layers)) {}

  /// The cache of a layer whose core has this shape; made at its first use.
  LayerCache& layer(Count i, const Attention& s) {
    LayerCache& c = layers_[static_cast<std::size_t>(i)];
    if (c.k) return c;
    c.capacity = s.window > 0 && s.window < tokens_ ? s.window : tokens_;
    const Bytes token = mul(sequences_, c.capacity) * backend_.number();
    if (s.caches_latent()) {
      c.k = arena_.make(Purpose::kv_cache, "attn.core", s.latent_dim * token);
      return c;
    }
    // Expanded latent heads: keys without positions lie with the values.
    const Count moved = s.latent_dim > 0 ? s.qk_dim - s.rope_dim : 0;
    c.k = arena_.make(Purpose::kv_cache, "attn.core", mul(s.kv_heads, moved > 0 ? moved + s.v_dim : s.qk_dim) * token);
    c.v = arena_.make(Purpose::kv_cache, "attn.core", mul(s.kv_heads, moved > 0 ? s.rope_dim : s.v_dim) * token);
    return c;
  }

 private:
  Backend& backend_;
  Arena& arena_;
  Count sequences_, tokens_;
  std::vector<LayerCache> layers_;

 public:
  std::shared_ptr<DecodingStep> decoding;  ///< kept between tokens; gone before the layers are
};

}  // namespace llmcalc::model
