#pragma once
/// Memory that an operator holds: its weights, its cache, and the tensors that backward needs.

#include "calc/formats/stored.hpp"

namespace llmcalc {

/// Bytes of the weights as stored.
Bytes weight_bytes(const Shape& shape, const Stored& w);

/// The bytes that one layer caches of one sequence on one rank: `per_token` for every token held, `per_pool` for every
/// `ratio` tokens, and a state of fixed size. Of an encoder's tokens, which a decoder's layer caches for its cross
/// attention, the state has the bytes; the decoder's own tokens follow one that begins it.
struct CacheRow {
  Bytes per_token{};
  Reach reach{};
  Bytes state{};
  Count encoded = 0;  ///< of the context, tokens that the encoder read
  Bytes per_pool{};
  Count ratio = 1;
  Bytes open{};  ///< of tokens whose group may still be open: beside the cache, as published counts have it
  constexpr Bytes of(Count context) const {
    const Count own = encoded == 0 ? context : std::max(context, encoded) - encoded + 1;
    return reach.held(own) * per_token + (own / ratio) * per_pool + state;
  }
  /// Bytes per token while no window is full; of pooled tokens the mean, rounded down.
  constexpr Bytes each() const { return per_token + Bytes(per_pool.value / ratio); }
  /// Adds what another operator of the layer caches; if two cache tokens, both keep all of them, and two that pool
  /// tokens pool as many.
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

/// Bytes of one token in this layer's cache on this rank: a key and a value of every KV head, or one latent row, each
/// a row of its own.
Bytes token_cache(const Attention& a, const CacheFormats& cache);

/// The inputs that the backward pass needs, and whether it needs the output.
struct Needs {
  std::array<bool, Inputs::most> in{};
  bool out = false;
};
/// The bytes that an operator holds besides inputs and output.
struct Held {
  Needs needs{};
  Bytes kept{};     ///< for backward: softmax outputs, log-sum-exps, masks, statistics
  Bytes scratch{};  ///< only while it runs: naive attention's scores, which training keeps; a ring's incoming block
  Bytes scratch_backward{};
};
Held held(const Shape& shape, const Pricing& p);
/// The same of an operator: a frozen matrix needs no input, and a frozen table no ids; nothing is kept of one without a
/// backward pass.
Held held(const Op& op, const Pricing& p);

/// Bytes of a rank's logits during the loss: 4 each (log-softmax), the compute format, or the compute format with a
/// float32 copy and a float32 gradient; of the tokens that the loss takes at once.
Bytes logits_bytes(const Loss& s, const Pricing& p);

}  // namespace llmcalc
