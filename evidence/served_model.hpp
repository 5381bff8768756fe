#pragma once
/// The model that a server's log names, and the options of a plan that its configuration says.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/vllm_start.hpp"
#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// The preset that "meta-llama/Llama-3.1-8B-Instruct", a folder of that name or one of a Hugging Face cache means; with
/// a suffix that names a format ("-AWQ", "-FP8") the model without it. Null if there is none.
const Builtin* served_preset(std::string_view model);

/// An option of a plan as a user would type it.
struct SaidOption {
  std::string_view flag;
  std::string value;
};
/// Ranks, precision, formats of weights and cache, and the tokens of a pass, but for learned positions. A checkpoint
/// with formats of its own keeps those. `unknown` takes what the configuration says and no option does.
std::vector<SaidOption> said_options(const VllmConfig& config, const ModelCard& model,
                                     std::vector<std::string>& unknown);

}  // namespace llmcalc
