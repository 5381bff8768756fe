#pragma once
/// Meanings of the parts of tensor names.

#include <cstdint>
#include <string>

namespace llmcalc {

/// Places in order of precedence: an expert's norm counts as a norm and an expert's router as a router, not as
/// experts.
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
  other_head,  ///< head of a classifier or reward model
  unknown
};

/// Place indicated by one part of a name, in lower case; `unknown` if the part indicates no place.
TensorPlace place_of(const std::string& segment);

/// Place indicated by a word that has this meaning only at the start of a name, such as "output" in "output.weight".
TensorPlace place_of_first(const std::string& segment);

}  // namespace llmcalc
