#include "presets/import/quantization/mtp_names.hpp"

#include <fmt/format.h>

#include <array>

namespace llmcalc::import {

namespace {

/// Names in a family's MTP modules: the prefix of the module's layer, and the matrix that combines a hidden state with
/// the next token's embedding. {} denotes the module's number.
struct MtpNames {
  std::string_view family;  ///< prefix of the family's model_type
  std::string_view layer, join;
  std::string_view token = "";  ///< name of the matrix for the token's embedding, if two matrices combine the inputs
  bool counts_on = false;       ///< whether module numbers continue the numbers of the model's layers
  Count layers = 1;  ///< layers per module; if there are two, the first has attention, the second the MLP or experts
};

/// Sources: hub deepseek-ai/DeepSeek-V3, README_WEIGHTS.md; vLLM, model_executor/models: deepseek_mtp.py,
/// qwen3_next_mtp.py, mimo_mtp.py, mimo_v2_mtp.py, ernie_mtp.py, nemotron_h_mtp.py, step3p5_mtp.py,
/// longcat_flash_mtp.py; hub deepseek-ai/DeepSeek-V4-Flash, inference/model.py. All other families name their modules
/// like DeepSeek-V3.
constexpr MtpNames usual_mtp_names{
    .family = "deepseek", .layer = "layers.{}.", .join = "layers.{}.eh_proj", .counts_on = true};
constexpr std::array mtp_names{
    MtpNames{.family = "deepseek_v4", .layer = "mtp.{}.", .join = "mtp.{}.h_proj", .token = "mtp.{}.e_proj"},
    MtpNames{.family = "longcat", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj"},
    MtpNames{.family = "qwen3_", .layer = "mtp.layers.{}.", .join = "mtp.fc"},
    MtpNames{.family = "mimo_v2", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj"},
    MtpNames{.family = "mimo", .layer = "mtp_layers.{}.", .join = "mtp_layers.{}.input_proj"},
    MtpNames{.family = "ernie4_5", .layer = "mtp_block.{}.", .join = "mtp_linear_proj.{}"},
    MtpNames{.family = "nemotron_h", .layer = "mtp.layers.{}.", .join = "mtp.layers.{}.eh_proj", .layers = 2}};

const MtpNames& mtp_names_of(std::string_view model_type) {
  for (const MtpNames& n : mtp_names)
    if (model_type.starts_with(n.family)) return n;
  return usual_mtp_names;
}

}  // namespace

std::vector<MtpModule> mtp_modules(const Arch& a, std::string_view model_type) {
  const MtpNames& n = mtp_names_of(model_type);
  const auto named = [](std::string_view name, Count number) { return fmt::format(fmt::runtime(name), number); };
  std::vector<MtpModule> all;
  for (Count k = 0; k < a.mtp.modules; ++k) {
    const Count first = add(n.counts_on ? a.layers : 0, mul(k, n.layers));
    all.push_back(
        {named(n.layer, first), named(n.layer, first + n.layers - 1), named(n.join, first), named(n.token, first)});
  }
  return all;
}

}  // namespace llmcalc::import
