#pragma once
/// Note about config.json keys that are not understood.

#include <string>

#include "presets/model_card.hpp"

namespace llmcalc {

/// Sentence such as "\"a\", \"b\" and 3 more in FILE are not understood and were not counted", with at most five names.
/// Empty if all keys are understood.
std::string unknown_keys_note(const ModelCard& model);

}  // namespace llmcalc
