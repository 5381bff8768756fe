#pragma once
/// Number formats and the bytes of a tensor in each. One row per format; to add a format, add a row.
///
/// Sources: GGUF blocks from ggml-common.h (public source of ggml); MX formats from the OCP Microscaling specification
/// v1.0; NVFP4 from NVIDIA's Blackwell documentation; NF4 from QLoRA (arXiv:2305.14314); GPTQ (arXiv:2210.17323) and
/// AWQ (arXiv:2306.00978) at group 128 with a 16-bit scale; block-scaled FP8 from DeepSeek-V3 (arXiv:2412.19437); the
/// extra tensors of AutoGPTQ, compressed-tensors and ModelOpt from their checkpoints, whose published sizes
/// tests/presets/quantized_test.cpp reproduces.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

/// The peak rate of a device that limits matmuls in a format.
enum class Peak : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, none };
inline constexpr std::size_t peak_count = 8;
inline constexpr std::array<std::string_view, peak_count> peak_names{"fp64", "fp32", "tf32", "fp16",
                                                                     "bf16", "fp8",  "fp4",  "int8"};

/// A format stores rows of elements: `element_bits` each, plus `group_bits` per group of `group` elements along the row
/// (0: no groups; < 0: one group per row). Every `outer` groups of a tensor share another `outer_bits` (double
/// quantization), and each tensor has an additional `tensor_bytes`.
struct Format {
  std::string_view name;
  Count element_bits = 0, group = 0, group_bits = 0;
  Count outer = 0, outer_bits = 0, tensor_bytes = 0;
  Peak peak = Peak::none;        ///< `none`: storage only; matmuls run in another format
  bool covers_embedding = true;  ///< whether it covers token embedding and head; false: they keep the compute format
  bool covers_vectors = true;    ///< whether it covers norms and biases; false: they keep the compute format
  std::string_view note;
  Count group_rows = 1;                 ///< number of rows per group, for blocks of 128 x 128
  Count row_bits = 0, column_bits = 0;  ///< numbers of extra bits per row and per column
};

/// Whole bits per element, excluding group data such as scales.
constexpr Count whole_bits(const Format& f) { return f.element_bits > 0 ? f.element_bits : f.group_bits / f.group; }

/// Whether the operands of a matmul can be in this format. True if devices multiply in it, and if its bytes describe
/// a single tensor (some checkpoint formats also store the input's scale with the weights).
constexpr bool is_operand_format(const Format& f) { return f.peak != Peak::none && f.tensor_bytes <= 4; }

// clang-format off
inline constexpr std::array formats{
    //     name          bits group  bits  outer        peak          embed  vectors
    Format{"fp64",        64,   0,     0, 0, 0, 0, Peak::fp64, true,  true,  "double precision"},
    Format{"fp32",        32,   0,     0, 0, 0, 0, Peak::fp32, true,  true,  "single precision"},
    Format{"tf32",        32,   0,     0, 0, 0, 0, Peak::tf32, true,  true,  "stored as fp32, multiplied as tf32"},
    Format{"fp16",        16,   0,     0, 0, 0, 0, Peak::fp16, true,  true,  "half precision"},
    Format{"bf16",        16,   0,     0, 0, 0, 0, Peak::bf16, true,  true,  "bfloat16"},
    Format{"fp8",          8,   0,     0, 0, 0, 0, Peak::fp8,  true,  true,  "E4M3 or E5M2, scale per tensor not counted"},
    Format{"fp8-block",    8, 128,    32, 0, 0, 0, Peak::fp8,  false, false, "fp32 scale per 128 x 128 (DeepSeek-V3)", 128},
    Format{"fp8-row",      8,  -1,    16, 0, 0, 0, Peak::fp8,  false, false, "16-bit scale per row (compressed-tensors)"},
    Format{"fp8-row32",    8,  -1,    32, 0, 0, 0, Peak::fp8,  false, false, "fp32 scale per row (FBGEMM)"},
    Format{"fp8-tensor",   8,   0,     0, 0, 0, 8, Peak::fp8,  false, false, "fp32 scales of the tensor and its input (ModelOpt)"},
    Format{"int8",         8,  -1,    32, 0, 0, 0, Peak::int8, false, false, "fp32 scale per row (LLM.int8)"},
    Format{"int8-row",     8,  -1,    16, 0, 0, 0, Peak::int8, false, false, "16-bit scale per row (compressed-tensors)"},
    Format{"int8-g128",    8, 128,    16, 0, 0, 0, Peak::none, false, false, "symmetric int8, group 128, 16-bit scale"},
    Format{"int4",         4,   0,     0, 0, 0, 0, Peak::none, true,  true,  "plain 4 bits, no scales"},
    Format{"nf4",          4,  64,    32, 0, 0, 0, Peak::none, false, false, "block 64, fp32 scale (QLoRA)"},
    Format{"nf4-dq",       4,  64,     8, 256, 32, 0, Peak::none, false, false, "block 64, scales quantized in blocks of 256 (QLoRA)"},
    Format{"gptq",         4, 128,    20, 0, 0, 0, Peak::none, false, false, "int4, group 128, 16-bit scale, 4-bit zero"},
    Format{"awq",          4, 128,    20, 0, 0, 0, Peak::none, false, false, "int4, group 128, 16-bit scale, 4-bit zero"},
    Format{"gptq-act",     4, 128,    20, 0, 0, 0, Peak::none, false, false, "gptq with an index per column and a bias (AutoGPTQ desc_act)", 1, 16, 32},
    Format{"gptq-g32",     4,  32,    20, 0, 0, 0, Peak::none, false, false, "gptq, group 32"},
    Format{"gptq-g64",     4,  64,    20, 0, 0, 0, Peak::none, false, false, "gptq, group 64"},
    Format{"gptq-2bit",    2, 128,    18, 0, 0, 0, Peak::none, false, false, "int2, group 128, 16-bit scale, 2-bit zero"},
    Format{"gptq-3bit",    3, 128,    19, 0, 0, 0, Peak::none, false, false, "int3, group 128, 16-bit scale, 3-bit zero"},
    Format{"gptq-8bit",    8, 128,    24, 0, 0, 0, Peak::none, false, false, "int8, group 128, 16-bit scale, 8-bit zero"},
    Format{"awq-g32",      4,  32,    20, 0, 0, 0, Peak::none, false, false, "awq, group 32"},
    Format{"awq-g64",      4,  64,    20, 0, 0, 0, Peak::none, false, false, "awq, group 64"},
    Format{"int4-row",     4,  -1,    16, 0, 0, 0, Peak::none, false, false, "symmetric int4, 16-bit scale per row (compressed-tensors)"},
    Format{"int4-g32",     4,  32,    16, 0, 0, 0, Peak::none, false, false, "symmetric int4, group 32, 16-bit scale"},
    Format{"int4-g64",     4,  64,    16, 0, 0, 0, Peak::none, false, false, "symmetric int4, group 64, 16-bit scale"},
    Format{"int4-g128",    4, 128,    16, 0, 0, 0, Peak::none, false, false, "symmetric int4, group 128, 16-bit scale"},
    Format{"mlx-2bit",     2,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"mlx-3bit",     3,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"mlx-4bit",     4,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"mlx-5bit",     5,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"mlx-6bit",     6,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"mlx-8bit",     8,  64,    32, 0, 0, 0, Peak::none, true,  false, "MLX, group 64, 16-bit scale and bias"},
    Format{"ternary",      2,   0,     0, 0, 0, 2, Peak::none, false, false, "2 bits for -1, 0 or 1, a 16-bit scale per tensor (BitNet)"},
    Format{"mxfp4",        0,  32,   136, 0, 0, 0, Peak::fp4,  false, false, "OCP MX: 32 x 4 bits and an 8-bit scale"},
    Format{"mxfp6",        0,  32,   200, 0, 0, 0, Peak::none, false, false, "OCP MX: 32 x 6 bits and an 8-bit scale"},
    Format{"mxfp8",        0,  32,   264, 0, 0, 0, Peak::fp8,  false, false, "OCP MX: 32 x 8 bits and an 8-bit scale"},
    Format{"nvfp4",        0,  16,    72, 0, 0, 4, Peak::fp4,  false, false, "16 x 4 bits, an 8-bit scale, a 32-bit scale per tensor"},
    Format{"nvfp4-input",  0,  16,    72, 0, 0, 8, Peak::fp4,  false, false, "nvfp4 with a 32-bit scale of its input (ModelOpt)"},
    Format{"q4_0",         0,  32,   144, 0, 0, 0, Peak::none, true,  false, "GGUF, 18 bytes per 32"},
    Format{"q4_1",         0,  32,   160, 0, 0, 0, Peak::none, true,  false, "GGUF, 20 bytes per 32"},
    Format{"q5_0",         0,  32,   176, 0, 0, 0, Peak::none, true,  false, "GGUF, 22 bytes per 32"},
    Format{"q5_1",         0,  32,   192, 0, 0, 0, Peak::none, true,  false, "GGUF, 24 bytes per 32"},
    Format{"q8_0",         0,  32,   272, 0, 0, 0, Peak::none, true,  false, "GGUF, 34 bytes per 32"},
    Format{"q1_0",         0, 128,   144, 0, 0, 0, Peak::none, true,  false, "GGUF, 18 bytes per 128"},
    Format{"q2_0",         0,  64,   144, 0, 0, 0, Peak::none, true,  false, "GGUF, 18 bytes per 64"},
    Format{"q2_k",         0, 256,   672, 0, 0, 0, Peak::none, true,  false, "GGUF, 84 bytes per 256"},
    Format{"q3_k",         0, 256,   880, 0, 0, 0, Peak::none, true,  false, "GGUF, 110 bytes per 256"},
    Format{"q4_k",         0, 256,  1152, 0, 0, 0, Peak::none, true,  false, "GGUF, 144 bytes per 256"},
    Format{"q5_k",         0, 256,  1408, 0, 0, 0, Peak::none, true,  false, "GGUF, 176 bytes per 256"},
    Format{"q6_k",         0, 256,  1680, 0, 0, 0, Peak::none, true,  false, "GGUF, 210 bytes per 256"},
    Format{"iq1_s",        0, 256,   400, 0, 0, 0, Peak::none, true,  false, "GGUF, 50 bytes per 256"},
    Format{"iq1_m",        0, 256,   448, 0, 0, 0, Peak::none, true,  false, "GGUF, 56 bytes per 256"},
    Format{"iq2_xxs",      0, 256,   528, 0, 0, 0, Peak::none, true,  false, "GGUF, 66 bytes per 256"},
    Format{"iq2_xs",       0, 256,   592, 0, 0, 0, Peak::none, true,  false, "GGUF, 74 bytes per 256"},
    Format{"iq2_s",        0, 256,   656, 0, 0, 0, Peak::none, true,  false, "GGUF, 82 bytes per 256"},
    Format{"iq3_xxs",      0, 256,   784, 0, 0, 0, Peak::none, true,  false, "GGUF, 98 bytes per 256"},
    Format{"iq3_s",        0, 256,   880, 0, 0, 0, Peak::none, true,  false, "GGUF, 110 bytes per 256"},
    Format{"iq4_nl",       0,  32,   144, 0, 0, 0, Peak::none, true,  false, "GGUF, 18 bytes per 32"},
    Format{"iq4_xs",       0, 256,  1088, 0, 0, 0, Peak::none, true,  false, "GGUF, 136 bytes per 256"},
    Format{"tq1_0",        0, 256,   432, 0, 0, 0, Peak::none, true,  false, "GGUF ternary, 54 bytes per 256"},
    Format{"tq2_0",        0, 256,   528, 0, 0, 0, Peak::none, true,  false, "GGUF ternary, 66 bytes per 256"},
};
// clang-format on

/// A row of `formats`.
class DType {
 public:
  constexpr DType() = default;
  constexpr explicit DType(std::size_t row) : row_(static_cast<std::uint8_t>(row)) {}
  constexpr const Format& format() const { return formats[row_]; }
  constexpr std::string_view name() const { return format().name; }
  constexpr bool operator==(const DType&) const = default;
  /// Whether the format has neither groups nor scales: every element has the same whole number of bits.
  constexpr bool plain() const { return format().group == 0 && format().tensor_bytes == 0; }

 private:
  std::uint8_t row_ = 0;
};

/// The format with this name (lower case), if any.
constexpr std::optional<DType> dtype(std::string_view name) {
  for (std::size_t i = 0; i < formats.size(); ++i)
    if (formats[i].name == name) return DType(i);
  return std::nullopt;
}

namespace dtypes {
inline constexpr DType fp32 = *dtype("fp32"), fp16 = *dtype("fp16"), bf16 = *dtype("bf16"), fp8 = *dtype("fp8");
}

/// Bytes of a (rows, cols) tensor in a format with groups along the rows; a partial group counts as a whole one.
constexpr Bytes grouped_bytes(const Format& f, Count rows, Count cols) {
  const Count one_per_row = f.group < 0 ? 1 : 0;
  const Count per_row = f.group > 0 ? ceil_div(cols, f.group) : one_per_row;
  const Count groups = mul(ceil_div(rows, f.group_rows), per_row);
  const Count outer = f.outer == 0 ? 0 : mul(ceil_div(groups, f.outer), f.outer_bits);
  const Count edges = add(mul(rows, f.row_bits), mul(cols, f.column_bits));
  const Count bits = add(add(mul(rows, cols, f.element_bits), mul(groups, f.group_bits)), add(outer, edges));
  return Bytes(add(ceil_div(bits, 8), f.tensor_bytes));
}

/// Bytes of a (rows, cols) tensor in any format.
constexpr Bytes tensor_bytes(DType t, Count rows, Count cols) {
  if (!t.plain()) return grouped_bytes(t.format(), rows, cols);
  return Bytes(ceil_div(mul(rows, cols, t.format().element_bits), 8));
}

/// Bytes of an activation or gradient (rows, depth) as an operand of a matmul that sums over `depth`. Groups run
/// along the depth, and each is within one row; only weights use blocks of several rows (DeepSeek-V3: 1 x 128 and 128
/// x 128).
constexpr Bytes operand_bytes(DType t, Count rows, Count depth) {
  if (t.plain()) return tensor_bytes(t, rows, depth);
  Format own = t.format();
  own.group_rows = 1;
  return grouped_bytes(own, rows, depth);
}

/// Bytes of n elements in one row, such as activations or gradients.
constexpr Bytes bytes_of(DType t, Count n) { return tensor_bytes(t, 1, n); }

/// Bytes of one separately stored row of `cols` elements, such as one head's key of one token in a cache: the row and
/// its first group start on a byte boundary. Excludes a tensor-wide scale (nvfp4).
constexpr Bytes row_bytes(DType t, Count cols) { return tensor_bytes(t, 1, cols) - Bytes(t.format().tensor_bytes); }

/// Mean bits per weight of a long row.
constexpr double bits_per_weight(DType t) {
  const Format& f = t.format();
  const double group =
      f.group > 0 ? static_cast<double>(f.group_bits) / static_cast<double>(f.group * f.group_rows) : 0.0;
  const double outer = f.outer > 0 ? static_cast<double>(f.outer_bits) / static_cast<double>(f.outer * f.group) : 0.0;
  return static_cast<double>(f.element_bits) + group + outer;
}

}  // namespace llmcalc
