#pragma once
/// Meanings of single parts of a tensor's name.

#include <cstdint>
#include <string>

namespace llmcalc {

/// Groups in order of precedence: the experts' norm is a norm, and the experts' router a router.
enum class TensorPlace : std::uint8_t {
  buffer,
  rotary,
  vision,
  prediction,
  norm,
  router,
  shared_experts,
  experts,
  position,
  embedding,
  lm_head,
  mlp_of_mixer,
  attention,
  mlp,
  other_head,  ///< of a class that classifies or scores
  unknown
};

/// Place that one part of a name indicates, in lower case; unknown if it indicates no place.
TensorPlace place_of(const std::string& segment);

/// Place that a part indicates only at the start of a name: "output" in "output.weight".
TensorPlace place_of_first(const std::string& segment);

}  // namespace llmcalc
