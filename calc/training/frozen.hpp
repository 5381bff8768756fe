#pragma once
/// Untrained weights, by part of the model and by layer.

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

/// A part of a model whose weights can be frozen.
enum class FreezePart : std::uint8_t {
  embedding,  ///< token embedding, learned positions, projections to and from a narrower table, and a tied head
  head,
  attention,  ///< projections, biases, inner norms, sinks
  mlp,        ///< dense MLPs
  experts,    ///< routed and shared experts
  router,     ///< includes the gate of shared experts
  norm        ///< norms of the residual stream: in blocks, after the embedding, before the head
};
template <>
inline constexpr auto choices<FreezePart> = std::array{Choice{FreezePart::embedding, "embedding"},
                                                       Choice{FreezePart::head, "head"},
                                                       Choice{FreezePart::attention, "attention"},
                                                       Choice{FreezePart::mlp, "mlp"},
                                                       Choice{FreezePart::experts, "experts"},
                                                       Choice{FreezePart::router, "router"},
                                                       Choice{FreezePart::norm, "norm"}};

constexpr FreezePart freeze_part(Component c) {
  switch (c) {
    case Component::embedding:
    case Component::position:
      return FreezePart::embedding;
    case Component::attention:
      return FreezePart::attention;
    case Component::mlp:
      return FreezePart::mlp;
    case Component::router:
      return FreezePart::router;
    case Component::experts:
    case Component::shared_experts:
      return FreezePart::experts;
    case Component::norm:
      return FreezePart::norm;
    case Component::lm_head:
      return FreezePart::head;
  }
  return FreezePart::embedding;
}

struct Frozen {
  SetOf<FreezePart> parts{};  ///< parts that are frozen in all layers
  LayerSet layers{};          ///< blocks that are frozen as a whole
  constexpr bool empty() const { return parts.empty() && layers.empty(); }
  constexpr bool operator==(const Frozen&) const = default;
};

}  // namespace llmcalc
