#pragma once
/// Numbers of heads in memory.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Token t of sequence s, head h begins at data + s sequence + t token + h head.
struct HeadView {
  const void* data = nullptr;
  Count sequence = 0, token = 0, head = 0;
  Count capacity = 0;  ///< slots for tokens: token t lies at t mod capacity; 0: all tokens
};

}  // namespace llmcalc::model
