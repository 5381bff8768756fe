#pragma once
/// Arithmetic constants of a model, in addition to its sizes. They affect results but not parameters, bytes or matmul
/// FLOPs: scaling, capping and shifting happen inside existing operators. presets/import reads them from a config; the
/// reference transformer uses them. The defaults apply to a model file without these fields.

#include <array>
#include <cstdint>

#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// Methods that extend rotary positions beyond the trained length; formulas in model/math/rotary.hpp.
enum class RopeScaling : std::uint8_t {
  none,
  linear,   ///< positions divided by the factor
  dynamic,  ///< the base grows with the sequence length (NTK-aware); cached keys keep the rotations they were computed
            ///< with
  yarn,     ///< scaled per frequency band (arXiv:2309.00071)
  llama3    ///< scaled per frequency band (Llama 3.1)
};
template <>
inline constexpr auto choices<RopeScaling> = std::array{
    Choice{RopeScaling::none, "default"}, Choice{RopeScaling::linear, "linear"},
    Choice{RopeScaling::dynamic, "dynamic"}, Choice{RopeScaling::yarn, "yarn"}, Choice{RopeScaling::llama3, "llama3"}};

struct Rope {
  double base = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  Count trained = 0;  ///< context length in training, before the extension
  double low = 1,
         high = 4;  ///< llama3: a frequency is slow below `low` rotations over `trained` tokens, and fast above
                    ///< `high`
  double slow = 1, fast = 32;   ///< yarn: thresholds with the meaning of `low` and `high` (beta_slow, beta_fast)
  bool whole = true;            ///< yarn: whether the ramp starts and ends at whole dimension pairs (truncate)
  double attention_factor = 1;  ///< yarn: factor on cosines and sines
  constexpr bool operator==(const Rope&) const = default;
};

struct Numerics {
  double norm_epsilon = 1e-5;
  bool unit_offset = false;    ///< whether norms over the residual width and qk-norms multiply by 1 + w (Gemma)
  double embedding_scale = 1;  ///< factor on the token embedding's rows (Gemma: square root of the hidden size)
  double score_scale = 0;      ///< factor on q k'; 0: 1 / sqrt(query width)
  double score_cap = 0;        ///< scores s become cap tanh(s / cap) (Gemma 2); 0: no cap
  double logit_cap = 0;        ///< cap on the logits, applied like the cap on scores; 0: no cap
  Count farthest = 128;        ///< relative positions: all distances of at least this value share one bucket (T5)
  Rope rope{};                 ///< RoPE of layers without a window
  Rope local_rope{};           ///< RoPE of layers with a window (Gemma 3 uses a different one)
  constexpr bool operator==(const Numerics&) const = default;
};

}  // namespace llmcalc
