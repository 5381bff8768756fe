#pragma once
/// The note on keys of a config.json that are not understood.

#include <string>

#include "presets/model_card.hpp"

namespace llmcalc {

/// "\"a\", \"b\" and 3 more in FILE are not understood and were not counted": five names at most. Empty where every key
/// is understood.
std::string unknown_keys_note(const ModelCard& model);

}  // namespace llmcalc
