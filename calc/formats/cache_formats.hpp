#pragma once
/// Formats of the KV cache.

#include "calc/formats/dtype.hpp"

namespace llmcalc {

/// Formats of cached keys and values. The keys' format also applies to rows that are both keys and values (latent rows,
/// or values that are the keys), to an indexer's keys and to pooled keys.
struct CacheFormats {
  DType keys = dtypes::bf16, values = dtypes::bf16;

  constexpr CacheFormats() = default;
  /// One format for keys and values; implicit, since this is the usual case.
  constexpr CacheFormats(DType both) : keys(both), values(both) {}
  constexpr CacheFormats(DType k, DType v) : keys(k), values(v) {}

  constexpr bool uniform() const { return keys == values; }
  constexpr bool operator==(const CacheFormats&) const = default;
};

}  // namespace llmcalc
