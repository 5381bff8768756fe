#pragma once
/// From a Hugging Face config.json to an explicit architecture.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The model that a config.json describes; of a composite config (vision, audio), the text part, with the parameters of
/// towers beside it. What the config leaves unsaid follows from its family's modelling code. Keys that change nothing
/// are ignored; those that might are listed in unknown_keys. Throws InputError; also for a family that is not known,
/// never a guess.
ModelCard import_config(const json::Value& config, const std::string& where);

/// A model that can be run: the model_type of its text part, and its arithmetic.
struct Runnable {
  std::string model_type;
  Arch arch;
  Numerics numerics;
};
/// The text part of a config.json as the reference transformer runs it. Throws InputError for a family or a convention
/// that it does not run, and for quantised weights.
Runnable import_runnable(const json::Value& config, const std::string& where);

/// The model types that import_config knows, sorted.
std::vector<std::string> importable_types();

}  // namespace llmcalc
