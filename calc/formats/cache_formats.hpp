#pragma once
/// Formats of the KV cache.

#include "calc/formats/dtype.hpp"

namespace llmcalc {

/// Rows that are keys and values at once (latent attention, values that are the keys) and keys of an indexer or of
/// pooled tokens are in the keys' format.
struct CacheFormats {
  DType keys = dtypes::bf16, values = dtypes::bf16;

  constexpr CacheFormats() = default;
  /// Both in one; not explicit, for one format is the usual cache.
  constexpr CacheFormats(DType both) : keys(both), values(both) {}
  constexpr CacheFormats(DType k, DType v) : keys(k), values(v) {}

  constexpr bool uniform() const { return keys == values; }
  constexpr bool operator==(const CacheFormats&) const = default;
};

}  // namespace llmcalc
