#pragma once
/// Converts a Hugging Face config.json to an explicit architecture.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The model described by a config.json. For a composite config (vision, audio), this is the text part, with the
/// parameters of its encoders. Omitted values follow the family's modeling code. Keys without effect are ignored;
/// unread keys that may have an effect are listed in unknown_keys. Throws InputError rather than guessing, for
/// example for an unknown family.
ModelCard import_config(const json::Value& config, const std::string& where);

/// A model that the reference transformer can run: the model_type of its text part, its architecture and its numerics.
struct Runnable {
  std::string model_type;
  Arch arch;
  Numerics numerics;
};
/// The text part of a config.json for the reference transformer. Throws InputError for unsupported families and
/// conventions, and for quantized weights.
Runnable import_runnable(const json::Value& config, const std::string& where);

/// Model types that import_config supports, sorted.
std::vector<std::string> importable_types();

}  // namespace llmcalc
