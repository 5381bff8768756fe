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

/// Preset for a name such as "meta-llama/Llama-3.1-8B-Instruct", for a folder with such a name, or for a folder in a
/// Hugging Face cache. If the full name has no preset, a suffix for a format ("-AWQ", "-FP8") or a month ("-2507") is
/// ignored. May be null.
const Builtin* served_preset(std::string_view model);

/// Weight format that the end of a checkpoint's name indicates ("w8a8 int8" for "...-quantized.w8a8"), otherwise the
/// only format in which the model was published (gpt-oss, DeepSeek-V3). Empty if unknown.
std::string format_in_name(std::string_view model);

/// A plan option as a user would type it.
struct SaidOption {
  std::string_view flag;
  std::string value;
};
/// Options for ranks, precision (if weights are unquantized), the type of a GGUF file, the cache format and, for
/// models without learned positions, the tokens per pass. A checkpoint that states its formats keeps them. `unknown`
/// receives configuration values without a matching option.
std::vector<SaidOption> said_options(const ServerConfig& config, const ModelCard& model,
                                     std::vector<std::string>& unknown);

/// The layout with data-parallel and expert-parallel ranks as in vLLM, in addition to `split.tp` tensor-parallel
/// ranks. With expert parallelism, the experts are distributed across the tensor-parallel ranks of all replicas;
/// otherwise these ranks shard the width of each expert (docs: Data Parallel Deployment). Rank counts that do not
/// divide the model are added to `unknown` and leave the layout unchanged.
Layout served_layout(const ServerConfig& config, const Arch& arch, Layout split, std::vector<std::string>& unknown);

/// Format for a vLLM dtype or quantization: "bfloat16", "awq_marlin". Unknown words are returned unchanged.
std::string meant_format(std::string_view said);

/// Format of quantized weights in the configuration. Empty if absent or unknown.
std::optional<DType> said_weights(const ServerConfig& config);
/// Weight formats with `of_blocks` for the linear layers of blocks and `others` for all other weights, as in vLLM
/// (which quantizes LinearBase and FusedMoE layers, but not embedding, head, norms and router).
WeightFormats served_weights(DType of_blocks, DType others);
/// Weight formats of a configuration. quantization=mxfp4 applies only to experts (mxfp4.py leaves LinearBase layers
/// unchanged). Empty if said_weights() is empty.
std::optional<WeightFormats> served_weights(const ServerConfig& config, DType others);

}  // namespace llmcalc
