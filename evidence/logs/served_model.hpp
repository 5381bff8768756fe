#pragma once
/// The model that a server's log names, and the options of a plan that its configuration says.

#include <string>
#include <string_view>
#include <vector>

#include "calc/layout.hpp"
#include "evidence/logs/vllm_start.hpp"
#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// The preset that "meta-llama/Llama-3.1-8B-Instruct", a folder of that name or one of a Hugging Face cache means; with
/// a suffix that names a format ("-AWQ", "-FP8") or a month ("-2507") the model without it. Null if there is none.
const Builtin* served_preset(std::string_view model);

/// The format of weights that the end of a checkpoint's name tells, in usual words: "w8a8 int8" of
/// "...-quantized.w8a8"; else the format in which alone such a model is published (gpt-oss, DeepSeek-V3). Empty: none.
std::string format_in_name(std::string_view model);

/// An option of a plan as a user would type it.
struct SaidOption {
  std::string_view flag;
  std::string value;
};
/// Ranks, precision (where weights are not quantised), format of the cache, and the tokens of a pass, but for learned
/// positions. A checkpoint with formats of its own keeps its precision. `unknown` takes what the configuration says and
/// no option does.
std::vector<SaidOption> said_options(const VllmConfig& config, const ModelCard& model,
                                     std::vector<std::string>& unknown);

/// Data-parallel ranks and those of experts, as vLLM has them beside `split.tp` tensor-parallel ranks: of experts the
/// expert-parallel ranks, else the width, is divided over the tensor-parallel ranks of all replicas (docs: Data
/// Parallel Deployment). `unknown` takes ranks that do not divide the model, and the layout is left as it is.
Layout served_layout(const VllmConfig& config, const Arch& arch, Layout split, std::vector<std::string>& unknown);

/// The format that a word of vLLM for a dtype or a quantization means: "bfloat16", "awq_marlin"; another word as it is.
std::string meant_format(std::string_view said);

/// The format of quantised weights that the configuration says; absent where it says none or one that is not known.
std::optional<DType> said_weights(const VllmConfig& config);
/// That format for the linear layers of blocks, and 16 bits for all else, as vLLM has it (quantised layers are
/// LinearBase and FusedMoE; embedding, head, norms and router are left as they are).
WeightFormats served_weights(DType of_blocks, DType others);
/// The same of a configuration: quantization=mxfp4 is of experts alone (mxfp4.py leaves every LinearBase as it is).
/// Absent where said_weights() is.
std::optional<WeightFormats> served_weights(const VllmConfig& config, DType others);

}  // namespace llmcalc
