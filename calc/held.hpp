#pragma once
/// What an operator holds in memory: its weights, its cache, and what backward needs of it.

#include "calc/stored.hpp"

namespace llmcalc {

/// Bytes of the weights as stored.
Bytes weight_bytes(const Shape& shape, const Stored& w);

/// What a layer keeps of one sequence, on one rank: a token's bytes for every token that is held, and a state of fixed
/// size.
struct CacheRow {
  Bytes per_token{};
  Reach reach{};
  Bytes state{};
  constexpr Bytes of(Count context) const { return reach.held(context) * per_token + state; }
};
CacheRow cache_row(const Shape& shape, DType cache);

/// Bytes that one token of one sequence takes in this layer's cache on this rank: a key and a value of every KV head,
/// or one latent row, each a row of its own.
Bytes token_cache(const Attention& a, DType cache);

/// Which inputs, and whether the output, the backward pass needs.
struct Needs {
  std::array<bool, Inputs::most> in{};
  bool out = false;
};
/// What an operator holds besides inputs and output.
struct Held {
  Needs needs{};
  Bytes kept{};     ///< for backward: softmax outputs, log-sum-exps, masks, statistics
  Bytes scratch{};  ///< only while it runs: naive attention's scores, which training keeps
  Bytes scratch_backward{};
};
Held held(const Shape& shape, const Pricing& p);

/// The logits during the loss, all of a rank's: 4 bytes each (what log-softmax keeps), the compute format, or the
/// compute format with a float32 copy and a float32 gradient; in `chunks` pieces one after another.
Bytes logits_bytes(const Loss& s, const Pricing& p, Count chunks);

}  // namespace llmcalc
