#pragma once
/// Closed forms of weights, gradients and optimizer states, ZeRO, and 8-bit and grouped storage.

#include <array>
#include <optional>
#include <string_view>

#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Bytes per parameter for weights, gradients and optimizer states. Master weights count as optimizer state.
struct StatePreset {
  std::string_view name;
  Count weights = 0, gradients = 0, optimizer = 0;
  constexpr Count total() const { return weights + gradients + optimizer; }
};

// clang-format off
inline constexpr std::array state_presets{
    StatePreset{"adam_fp32",              4, 4,  8},  // Goon (2.1), (2.4)
    StatePreset{"adam_mixed_fp32_grads",  2, 4, 12},  // Goon (2.3), (2.4); Megatron-LM
    StatePreset{"adam_mixed_fp16_grads",  2, 2, 12},  // ZeRO, arXiv:1910.02054, K = 12
    StatePreset{"adam_mixed_both_grads",  2, 6, 12},  // 16-bit gradients and a float32 accumulator
    StatePreset{"adam_bf16_pure",         2, 2,  4},
    StatePreset{"adam_bf16_fp32_states",  2, 2,  8},  // no master copy
    StatePreset{"sgd_fp32",               4, 4,  0},
    StatePreset{"sgd_momentum_fp32",      4, 4,  4},
    StatePreset{"sgd_momentum_mixed",     2, 2,  8},  // master copy and momentum
    StatePreset{"adam8bit",               2, 2,  2},  // arXiv:2110.02861; excludes block scales
    StatePreset{"adam8bit_master",        2, 2,  6},
    StatePreset{"lion_mixed",             2, 2,  8},  // arXiv:2302.06675
};
// clang-format on
std::optional<StatePreset> state_preset(std::string_view name);

/// Bytes of the states: N times the preset's total.
Bytes state_bytes(const StatePreset& preset, Count params);

/// Bytes on each of d data-parallel ranks, by ZeRO stage (arXiv:1910.02054):
///   0: (w+g+o)N   1: (w+g)N + oN/d   2: wN + (g+o)N/d   3: (w+g+o)N/d, excluding gathered units.
Fraction zero_bytes(const StatePreset& preset, Count params, Count data_parallel, int stage);
/// Bytes that ZeRO-3 gathers: the weights of all units that are resident at the same time, and one unit's gradient.
Bytes gathered_bytes(Count unit_params, Count weight_bytes, Count units, Count gradient_bytes);

/// Bytes of Adam's two states with one byte per element and a float32 scale per block and state: 2N + 8 ceil(N /
/// block).
Bytes adam8bit_bytes(Count params, Count block);

/// Bytes of a (rows, cols) matrix of b-bit integers with groups along the rows, each with a scale and a z-bit zero
/// point.
Bytes integer_group_bytes(Count rows, Count cols, Count bits, Count group, Count scale_bytes, Count zero_bits);

/// Bytes of 4-bit NormalFloat (arXiv:2305.14314): N/2 and a float32 scale per block. With double quantization, each
/// scale has one byte, and `outer` scales share a float32.
Bytes nf4_bytes(Count weights, Count block, bool double_quantized, Count outer = 256);

}  // namespace llmcalc::textbook
