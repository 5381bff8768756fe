#pragma once
/// Formats of the KV cache.

#include "calc/formats/dtype.hpp"

namespace llmcalc {

/// Formats of cached keys and values. The keys' format also applies to rows that are both keys and values (latent rows,
/// or values that are the keys), to an indexer's keys and to pooled keys.
struct CacheFormats {
  DType keys = dtypes::bf16, values = dtypes::bf16;
  /// Rows of sparse latent attention as in FlashMLA's 8-bit kernels. A latent row stores 8-bit numbers with a float32
  /// scale per 128 numbers, and its rotary part in 16 bits. An indexer's key also stores 8-bit numbers with a float32
  /// scale per 128.
  bool scaled_latent = false, scaled_index = false;

  constexpr CacheFormats() = default;
  /// One format for keys and values; implicit, since this is the usual case.
  constexpr CacheFormats(DType both) : keys(both), values(both) {}
  constexpr CacheFormats(DType k, DType v) : keys(k), values(v) {}

  constexpr bool uniform() const { return keys == values; }
  constexpr bool operator==(const CacheFormats&) const = default;
};

/// Bytes of a row of 8-bit numbers with a float32 scale per 128 numbers.
constexpr Bytes scaled_row_bytes(Count numbers) { return Bytes(add(numbers, mul(4, ceil_div(numbers, 128)))); }

}  // namespace llmcalc
