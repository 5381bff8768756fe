#pragma once
/// Formats of the KV cache.

#include "calc/formats/dtype.hpp"

namespace llmcalc {

/// The keys' format also applies to rows that serve as both keys and values (latent attention, values that are the
/// keys) and to keys of an indexer or of pooled tokens.
struct CacheFormats {
  DType keys = dtypes::bf16, values = dtypes::bf16;

  constexpr CacheFormats() = default;
  /// One format for both; implicit, since this is the usual cache.
  constexpr CacheFormats(DType both) : keys(both), values(both) {}
  constexpr CacheFormats(DType k, DType v) : keys(k), values(v) {}

  constexpr bool uniform() const { return keys == values; }
  constexpr bool operator==(const CacheFormats&) const = default;
};

}  // namespace llmcalc
