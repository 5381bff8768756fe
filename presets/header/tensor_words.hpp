#pragma once
/// What one part of a tensor's name tells.

#include <cstdint>
#include <string>

namespace llmcalc {

/// Groups in the order in which they are looked for: the experts' norm is a norm, and the experts' router a router.
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

/// The place that one part of a name tells, in lower case; unknown for a part that tells none.
TensorPlace place_of(const std::string& segment);

/// The place that the first part of a name tells, and no later one: "output" of "output.weight".
TensorPlace place_of_first(const std::string& segment);

}  // namespace llmcalc
