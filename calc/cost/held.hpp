#pragma once
/// Memory of an operator: its weights, its cache, and the tensors saved for backward.

#include "calc/formats/stored.hpp"

namespace llmcalc {

/// Bytes of the weights as stored.
Bytes weight_bytes(const Shape& shape, const Stored& w);

/// Bytes that one layer caches per sequence on one rank: `per_token` for every cached token, `per_pool` for every
/// `ratio` tokens, and a fixed-size state. For cross-attention, the state consists of the encoder's tokens; the
/// decoder's tokens begin with one start token.
struct CacheRow {
  Bytes per_token{};
  Reach reach{};
  Bytes state{};
  Count encoded = 0;  ///< number of context tokens that the encoder reads
  Bytes per_pool{};
  Count ratio = 1;
  Bytes open{};  ///< bytes of tokens whose pooling group may be incomplete; excluded from the cache, as in published
                 ///< counts
  constexpr Bytes of(Count context) const {
    const Count own = encoded == 0 ? context : std::max(context, encoded) - encoded + 1;
    return reach.held(own) * per_token + (own / ratio) * per_pool + state;
  }
  /// Bytes per token while no window is full. Pooled keys count with their mean per token, rounded down.
  constexpr Bytes each() const { return per_token + Bytes(per_pool.value / ratio); }
  /// Adds the cache of another operator of the layer. Precondition: if both operators cache tokens, both keep all
  /// tokens; if both pool tokens, their ratios are equal.
  constexpr CacheRow& operator+=(const CacheRow& o) {
    if (o.per_token != Bytes()) reach = o.reach;
    per_token += o.per_token;
    state += o.state;
    if (o.per_pool != Bytes()) ratio = o.ratio;
    per_pool += o.per_pool;
    open += o.open;
    encoded += o.encoded;
    return *this;
  }
};
CacheRow cache_row(const Shape& shape, const Pricing& p);

/// Bytes of one token in this layer's cache on this rank. Each key and value of a KV head, or the latent row, is
/// stored as a separate row.
Bytes token_cache(const Attention& a, const CacheFormats& cache);

/// Which inputs backward needs, and whether it needs the output.
struct Needs {
  std::array<bool, Inputs::most> in{};
  bool out = false;
};
/// Bytes that an operator needs in addition to its inputs and output.
struct Held {
  Needs needs{};
  Bytes saved{};    ///< bytes saved for backward: softmax outputs, log-sum-exps, masks, statistics
  Bytes scratch{};  ///< bytes live only while the operator runs: naive attention's scores (training saves them); a
                    ///< ring's incoming block
  Bytes scratch_backward{};
};
Held held(const Shape& shape, const Pricing& p);
/// Tensors and bytes that an operator needs. If weights are frozen, backward needs neither the input of a matmul nor
/// the ids of a lookup. An operator without a backward pass saves no tensors.
Held held(const Op& op, const Pricing& p);

/// Bytes of a rank's logits during the loss, for one chunk of tokens. Per logit: 4 (float32 log-softmax), the bytes of
/// the compute format, or the compute format plus a float32 copy and a float32 gradient.
Bytes logits_bytes(const Loss& s, const Pricing& p);

}  // namespace llmcalc
