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

/// The preset that `name` means (find_meant), and the weight format named in it: a number format ("bf16", "nvfp4"), a
/// method ("awq", "gptq-int4", "bnb-4bit"), or a mix of llama-quantize ("q4_k_m"). A preset's own name and aliases
/// imply no format. Throws InputError if a word implies another weight format without naming it, if two formats
/// conflict, or if the model shares only a preset's shape.
MeantModel meant_model(std::string_view name);

/// Sets the weight format of a preset to `format`, taken from `name`, and adds a caveat. No effect if the preset
/// already has this format or a variant of it.
void take_named_format(ModelCard& card, std::string_view name, const std::string& format);

}  // namespace llmcalc
