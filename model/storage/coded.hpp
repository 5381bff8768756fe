#pragma once
/// Storage of values in the formats of weights and caches: quantized values, scales and zero points in exactly the
/// bytes that calc/formats/dtype.hpp counts. Quantized values precede scales, or both are interleaved by block; files
/// may order the same bytes differently. GGUF's K blocks keep ggml's order (model/storage/blocks.hpp).

#include <cstddef>
#include <span>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether the format can be encoded. Not supported: GGUF's IQ1 to IQ3, TQ, q1_0 and q2_0 blocks; int4, which has no
/// scale; gptq-act, whose column order depends on data.
bool can_code(DType format);

/// A (rows, width) tensor. `row_alone`: a single cache row, which has no tensor-wide scale.
struct CodedShape {
  DType format;
  Count rows = 1, width = 0;
  bool row_alone = false;
  Bytes bytes() const { return row_alone ? row_bytes(format, width) : tensor_bytes(format, rows, width); }
};

/// Rounds every value to the nearest one that its group's scale permits.
void encode(const CodedShape& shape, std::span<const float> from, std::byte* to);
/// Decodes rows [first, first + n).
void decode_rows(const CodedShape& shape, const std::byte* from, Count first, Count n, float* to);

}  // namespace llmcalc::model
