#pragma once
/// Converts a Hugging Face config.json to an explicit architecture.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The model that a config.json describes. For a composite config (vision, audio): the text part, with the parameters
/// of its encoders. Omitted values follow the family's modeling code. Keys without effect are ignored; keys that may
/// have one are listed in unknown_keys. Throws InputError, also for an unknown family, instead of a guess.
ModelCard import_config(const json::Value& config, const std::string& where);

/// A model that can be run: the model_type of its text part, architecture and arithmetic.
struct Runnable {
  std::string model_type;
  Arch arch;
  Numerics numerics;
};
/// The text part of a config.json as the reference transformer runs it. Throws InputError for a family or a convention
/// that it does not support, and for quantized weights.
Runnable import_runnable(const json::Value& config, const std::string& where);

/// Model types that import_config supports, sorted.
std::vector<std::string> importable_types();

}  // namespace llmcalc
