#pragma once
/// From a GGUF file's keys to the Hugging Face config.json that describes the same model, so that every family's unsaid
/// rules stand once, in presets/import.

#include <string>
#include <vector>

#include "presets/header/checkpoint.hpp"

namespace llmcalc {

/// The config.json of the model in a GGUF file. Throws InputError for an architecture that is not known, or a key that
/// is missing.
json::Value gguf_config(const Checkpoint& c);

/// The values of "general.architecture" that gguf_config knows, sorted.
std::vector<std::string> gguf_architectures();

}  // namespace llmcalc
