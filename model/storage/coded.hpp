#pragma once
/// Numbers in the formats of weights and caches: codes, scales and zeros in exactly the bytes that
/// calc/formats/dtype.hpp counts. Codes come first and scales behind them, or both by blocks; files may order the same
/// bytes in other ways. GGUF's K blocks have ggml's own order (model/storage/blocks.hpp).

#include <cstddef>
#include <span>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether numbers can be coded so. Missing: GGUF's IQ1 to IQ3, TQ, q1_0 and q2_0 blocks; int4, which has no scale;
/// gptq-act, whose order of columns comes from data.
bool can_code(DType format);

/// A (rows, width) tensor; `row_alone`: one row of a cache, which has no scale of the tensor.
struct CodedShape {
  DType format;
  Count rows = 1, width = 0;
  bool row_alone = false;
  Bytes bytes() const { return row_alone ? row_bytes(format, width) : tensor_bytes(format, rows, width); }
};

/// Every number becomes the nearest that its group's scale has.
void encode(const CodedShape& shape, std::span<const float> from, std::byte* to);
/// The numbers of some rows: [first, first + n).
void decode_rows(const CodedShape& shape, const std::byte* from, Count first, Count n, float* to);

}  // namespace llmcalc::model
