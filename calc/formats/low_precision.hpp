#pragma once
/// Selection of the blocks' matmuls that run in the plan's format if it has fewer than 16 bits; all other matmuls stay
/// in the working format.

#include <array>

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

enum class NarrowPart : std::uint8_t {
  attention,  ///< projections; the attention core has no weights
  mlp,        ///< dense MLPs
  experts     ///< routed and shared experts
};
template <>
inline constexpr auto choices<NarrowPart> = std::array{
    Choice{NarrowPart::attention, "attention"}, Choice{NarrowPart::mlp, "mlp"}, Choice{NarrowPart::experts, "experts"}};
using NarrowParts = SetOf<NarrowPart>;

struct LowPrecision {
  NarrowParts parts = NarrowParts::all();
  Count first_wide = 0,
        last_wide = 0;  ///< numbers of blocks at the start and at the end of the model that stay in the working format

  /// Whether this component's matmuls run in the plan's format, provided that their block does not stay in the working
  /// format.
  constexpr bool has(Component c) const {
    if (!is_low_precision(c)) return false;
    if (c == Component::attention) return parts.has(NarrowPart::attention);
    return parts.has(c == Component::mlp ? NarrowPart::mlp : NarrowPart::experts);
  }
  constexpr bool is_wide(Count layer, Count layers) const { return layer < first_wide || layer >= layers - last_wide; }
  constexpr LayerSet wide(Count layers) const {
    LayerSet s;
    for (Count i = 0; i < layers; ++i)
      if (is_wide(i, layers)) s.insert(i);
    return s;
  }
  constexpr bool operator==(const LowPrecision&) const = default;
};

}  // namespace llmcalc
