#pragma once
/// Model names as people type them, possibly with a weight format: "gpt-oss-20b-bf16".

#include <string>
#include <string_view>

#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct MeantModel {
  const Builtin* preset = nullptr;  ///< null: not found
  std::string format{};             ///< as --weight-precision takes it; empty: not in the name
};

/// Preset that `name` means (find_meant), and the weight format among its words: a number format ("bf16", "nvfp4"), a
/// method ("awq", "gptq-int4", "bnb-4bit"), or a mix of llama-quantize ("q4_k_m"). A preset's own name and aliases
/// imply no format. Throws InputError if a word implies another weight format without naming it, if two formats
/// contradict, and for a model that shares only a preset's shape.
MeantModel meant_model(std::string_view name);

/// Stores the weights of a preset in the format that the name states, unless they already are of that kind. Adds a
/// caveat.
void take_named_format(ModelCard& card, std::string_view name, const std::string& format);

}  // namespace llmcalc
