#pragma once
/// Model names as users type them, possibly with a weight format: "gpt-oss-20b-bf16".

#include <string>
#include <string_view>

#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct MeantModel {
  const Builtin* preset = nullptr;  ///< null if not found
  std::string format{};  ///< weight format in the name, as --weight-precision accepts it; empty: not in the name
  std::string origin{};  ///< how the name relates to the preset; empty: it is the preset's name
  std::string source{};  ///< source for `origin`; empty: derived from the name's words
};

/// The preset that `name` refers to, and the weight format named in it: a number format ("bf16", "nvfp4"), a method
/// ("awq", "gptq-int4", "bnb-4bit"), or a mix of llama-quantize ("q4_k_m"). Accepts preset names, hub ids and URLs,
/// Ollama tags and names of GGUF files. The table of names (name_table.hpp) takes precedence over the words of the
/// name. Words for tuning, storage and release dates are ignored. The name and aliases of a preset imply no format.
/// Throws InputError if a word implies another weight format without naming it, if two formats conflict, or if no
/// preset has the shape of a known model.
MeantModel meant_model(std::string_view name);
/// Like meant_model(), but without the table of names.
MeantModel model_of_words(std::string_view name);

/// Sets the weight format of the preset's card to the format in the name, unless the preset already has it or a
/// variant of it. Adds caveats.
void take_named_format(ModelCard& card, std::string_view name, const MeantModel& m);

}  // namespace llmcalc
