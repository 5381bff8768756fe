#pragma once
/// A server run, recorded request by request, as in evidence/serving/.
///
/// { "name", "source", "engine": {"name", "version", "tensor_parallel_size", "pipeline_parallel_size"?,
///   "data_parallel_size", "enable_expert_parallel", "max_num_seqs", "max_num_batched_tokens", "max_model_len",
///   "gpu_memory_utilization"?, "block_size"?, "dtype", "quantization"?, "kv_cache_dtype", "enforce_eager"?,
///   "enable_chunked_prefill"?, "enable_prefix_caching"?, and options for other work: beyond_decoding.hpp},
///   "model", "config"?: its config.json, "hardware", "instances": [{"hardware", "npu_mem": {"mem_size", "mem_bw",
///   "mem_util"}, "tp_size", ...}], "requests": [{"id", "queued_s", "first_token_s", "last_token_s", "prompt",
///   "generated", ...}], "per_second"?: {"columns": ["t", "prompt_throughput", "gen_throughput", "running", "waiting",
///   ...], "rows"} }
///
/// All times are on one clock. A request reaches the engine at `queued_s`, and its first token is ready at
/// `first_token_s`.

#include <optional>
#include <string>
#include <vector>

#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/recorded.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct RecordedRun {
  std::string where;  ///< path of the file, or a name for another origin
  std::string name;
  RowSource source;
  std::string engine, version, model, hardware, dtype, quantization, cache_dtype;
  std::optional<ModelCard> config;                               ///< the model's config.json, if the run includes it
  std::optional<double> memory_gb, bandwidth_gb_s, utilization;  ///< values of one device
  Count tensor_ranks = 1, data_ranks = 1;  ///< `data_ranks` engines of `tensor_ranks` x `stages` devices
  Count stages = 1;                        ///< number of pipeline stages
  bool expert_parallel = false;            ///< whether whole experts are distributed across all of these devices
  std::optional<Count> max_num_seqs, max_num_batched_tokens, max_model_len, block_size;  ///< limits of one engine
  bool eager = false;  ///< whether graph capture is disabled
  std::optional<bool> chunked_prefill, prefix_caching;
  std::string beyond;                     ///< work that a replay does not include; empty: none
  std::vector<RecordedRequest> requests;  ///< requests, sorted by `queued`
  std::vector<RecordedSecond> seconds;
  std::vector<std::string> unknown_keys;  ///< such as "engine.new_key", once each; ignored
};

/// Reads a recorded run; `where` names the text in errors. Throws InputError; its message names the file, the request
/// or second, and the reason.
RecordedRun read_recorded_run(std::string_view text, const std::string& where);
}  // namespace llmcalc
