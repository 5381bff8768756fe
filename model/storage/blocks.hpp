#pragma once
/// GGUF's K blocks and 4-bit blocks of unevenly spaced values (ggml-common.h, ggml-quants.c of public ggml): 256 or 32
/// values in parts of 16 or 32. Each part has a scale of a few bits, times the block's half-precision factor:
///
///   q2_k, q4_k, q5_k   d scale code - dmin least     two factors per block, two scales per part
///   q3_k, q6_k         d scale (code - zero)         signed scales
///   iq4_nl, iq4_xs     d scale value[code]           16 fixed values; iq4_nl has only d
///
/// Decoding matches ggml to the bit. ggml searches for the scales with the smallest error; here a part's scale is the
/// smallest that covers all of its values, and every value is rounded to the nearest code.

#include <cstddef>
#include <span>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether the format uses these blocks.
bool is_block_format(DType format);

/// Encodes values into a zeroed block. `from`: the block's values; values missing in a short row are zeros.
void encode_block(DType format, std::span<const float> from, std::byte* to);
/// Decodes the first values of a block.
void decode_block(DType format, const std::byte* from, std::span<float> to);

}  // namespace llmcalc::model
