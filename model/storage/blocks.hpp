#pragma once
/// GGUF's K blocks and its 4-bit blocks of unevenly spaced values (ggml-common.h, ggml-quants.c of public ggml): 256 or
/// 32 numbers in parts of 16 or 32, each part with a scale of a few bits, times a half-precision number of the block:
///
///   q2_k, q4_k, q5_k   d scale code - dmin least     two numbers of a block, and two of a part
///   q3_k, q6_k         d scale (code - zero)         scales have a sign
///   iq4_nl, iq4_xs     d scale value[code]           16 fixed values; iq4_nl has d alone
///
/// Decoding follows ggml to the bit. ggml searches for the scales that leave the smallest error; here a part's scale is
/// the smallest that reaches all of its numbers, and every number becomes the nearest that it has.

#include <cstddef>
#include <span>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether the format's numbers lie in such blocks.
bool is_block_format(DType format);

/// Writes a block of zero bytes. `from`: its numbers; those that a short row lacks are zeros.
void encode_block(DType format, std::span<const float> from, std::byte* to);
/// The first numbers of a block.
void decode_block(DType format, const std::byte* from, std::span<float> to);

}  // namespace llmcalc::model
