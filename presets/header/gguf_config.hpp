#pragma once
/// Converts a GGUF file's keys to the Hugging Face config.json of the same model, so that only presets/import/
/// implements the implicit rules of families.

#include <string>
#include <vector>

#include "presets/header/checkpoint.hpp"

namespace llmcalc {

/// The config.json of the model in a GGUF file. Throws InputError for an unknown architecture or a missing key.
json::Value gguf_config(const Checkpoint& c);

/// Values of "general.architecture" that gguf_config supports, sorted.
std::vector<std::string> gguf_architectures();

}  // namespace llmcalc
