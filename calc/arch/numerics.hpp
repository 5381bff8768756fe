#pragma once
/// Constants of a model's arithmetic beside its sizes. They change results, but neither parameters nor FLOPs of
/// products nor bytes: scaling, capping and shifting happen within operators that are there anyway. presets/import
/// reads them from a config; the reference transformer computes with them. The defaults are those of a model file,
/// which states none of them.

#include <array>
#include <cstdint>

#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// How rotary positions are stretched beyond the length that they were trained for; see model/math/rotary.hpp for
/// formulas.
enum class RopeScaling : std::uint8_t {
  none,
  linear,   ///< positions divided by the factor
  dynamic,  ///< the base grows with the length of the text (NTK-aware); keys in a cache keep the turns of their time
  yarn,     ///< by parts of the frequencies (arXiv:2309.00071)
  llama3    ///< by parts, of Llama 3.1
};
template <>
inline constexpr auto choices<RopeScaling> = std::array{
    Choice{RopeScaling::none, "default"}, Choice{RopeScaling::linear, "linear"},
    Choice{RopeScaling::dynamic, "dynamic"}, Choice{RopeScaling::yarn, "yarn"}, Choice{RopeScaling::llama3, "llama3"}};

struct Rope {
  double base = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  Count trained = 0;            ///< tokens that the model was trained for before it was stretched
  double low = 1, high = 4;     ///< llama3: turns within `trained` below and above which a frequency is slow or fast
  double slow = 1, fast = 32;   ///< yarn: the same, beta_slow and beta_fast
  bool whole = true;            ///< yarn: the ramp begins and ends at whole pairs (truncate)
  double attention_factor = 1;  ///< yarn: of cosines and sines
  constexpr bool operator==(const Rope&) const = default;
};

struct Numerics {
  double norm_epsilon = 1e-5;
  bool unit_offset = false;    ///< a norm over the residual width or of q and k multiplies by 1 + w (Gemma)
  double embedding_scale = 1;  ///< of the token table's rows (Gemma: the root of the hidden size)
  double score_scale = 0;      ///< of q k'; 0: 1 / the root of the width of a query
  double score_cap = 0;        ///< scores s become cap tanh(s / cap) (Gemma 2); 0: they do not
  double logit_cap = 0;        ///< the same of logits
  Count farthest = 128;        ///< of relative positions: from this distance on all share one range (T5)
  Rope rope{};                 ///< of layers that see all tokens
  Rope local_rope{};           ///< of layers with a window (Gemma 3 turns them otherwise)
  constexpr bool operator==(const Numerics&) const = default;
};

}  // namespace llmcalc
