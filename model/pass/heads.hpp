#pragma once
/// Memory layout of heads.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Head h of token t in sequence s begins at data + s sequence + t token + h head.
struct HeadView {
  const void* data = nullptr;
  Count sequence = 0, token = 0, head = 0;
  Count capacity = 0;  ///< number of token slots; token t is in slot t mod capacity; 0: one slot per token
};

}  // namespace llmcalc::model
