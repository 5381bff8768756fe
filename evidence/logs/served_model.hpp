#pragma once
/// Identifies the model in a server's log, and derives plan options from the server's configuration.

#include <string>
#include <string_view>
#include <vector>

#include "calc/layout.hpp"
#include "evidence/logs/server_start.hpp"
#include "presets/builtin.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// Preset for "meta-llama/Llama-3.1-8B-Instruct", for a folder of that name, or for one in a Hugging Face cache. If the
/// full name has no preset, ignores a suffix for a format ("-AWQ", "-FP8") or a month ("-2507"). May be null.
const Builtin* served_preset(std::string_view model);

/// Weight format from the end of a checkpoint's name, under its usual name: "w8a8 int8" for "...-quantized.w8a8";
/// otherwise the only published format of the model (gpt-oss, DeepSeek-V3). Empty if unknown.
std::string format_in_name(std::string_view model);

/// A plan option as a user would type it.
struct SaidOption {
  std::string_view flag;
  std::string value;
};
/// Options for ranks, precision (if weights are unquantized), the type of a GGUF file, cache format and, for models
/// without learned positions, tokens per pass. A checkpoint with its own formats keeps its precision. `unknown`
/// receives configuration values that have no matching option.
std::vector<SaidOption> said_options(const ServerConfig& config, const ModelCard& model,
                                     std::vector<std::string>& unknown);

/// Data-parallel and expert-parallel ranks as in vLLM, in addition to `split.tp` tensor-parallel ranks. With expert
/// parallelism, the tensor-parallel ranks of all replicas divide the experts among themselves; otherwise they shard the
/// width of each expert (docs: Data Parallel Deployment). Rank counts that do not divide the model are added to
/// `unknown` and leave the layout unchanged.
Layout served_layout(const ServerConfig& config, const Arch& arch, Layout split, std::vector<std::string>& unknown);

/// Format for a vLLM dtype or quantization: "bfloat16", "awq_marlin". Unknown words are returned unchanged.
std::string meant_format(std::string_view said);

/// Format of quantized weights in the configuration. Empty if absent or unknown.
std::optional<DType> said_weights(const ServerConfig& config);
/// `of_blocks` for the linear layers of blocks and `others` for all other weights, as in vLLM (quantized layers are
/// LinearBase and FusedMoE; embedding, head, norms and router are unchanged).
WeightFormats served_weights(DType of_blocks, DType others);
/// Weight formats of a configuration. quantization=mxfp4 applies to experts only (mxfp4.py does not change any
/// LinearBase). Empty if said_weights() is.
std::optional<WeightFormats> served_weights(const ServerConfig& config, DType others);

}  // namespace llmcalc
