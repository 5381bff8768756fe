#pragma once
/// A run of a server, recorded request by request: what evidence/serving/ holds.
///
/// { "name", "source", "engine": {"name", "version", "tensor_parallel_size", "pipeline_parallel_size"?,
///   "data_parallel_size", "enable_expert_parallel", "max_num_seqs", "max_num_batched_tokens", "max_model_len",
///   "gpu_memory_utilization"?, "block_size"?, "dtype", "quantization"?, "kv_cache_dtype", "enforce_eager"?,
///   "enable_chunked_prefill"?, "enable_prefix_caching"?, and options that name further work: beyond_decoding.hpp},
///   "model", "config"?: its config.json, "hardware", "instances": [{"hardware", "npu_mem": {"mem_size", "mem_bw",
///   "mem_util"}, "tp_size", ...}], "requests": [{"id", "queued_s", "first_token_s", "last_token_s", "prompt",
///   "generated", ...}], "per_second"?: {"columns": ["t", "prompt_throughput", "gen_throughput", "running", "waiting",
///   ...], "rows"} }
///
/// Seconds are those of one clock. A request reaches the engine at `queued_s`; its first token is there at
/// `first_token_s`.

#include <optional>
#include <string>
#include <vector>

#include "evidence/convert/training_row.hpp"
#include "evidence/rows/recorded.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct RecordedRun {
  std::string where;  ///< the file's path, or what else it was read from
  std::string name;
  RowSource source;
  std::string engine, version, model, hardware, dtype, quantization, cache_dtype;
  std::optional<ModelCard> config;                               ///< of the model, as the run carries it
  std::optional<double> memory_gb, bandwidth_gb_s, utilization;  ///< of one device
  Count tensor_ranks = 1, data_ranks = 1;  ///< `data_ranks` engines of `tensor_ranks` x `stages` devices
  Count stages = 1;                        ///< of a pipeline
  bool expert_parallel = false;            ///< experts are divided over all these devices
  std::optional<Count> max_num_seqs, max_num_batched_tokens, max_model_len, block_size;  ///< of one engine
  bool eager = false;                                                                    ///< nothing is recorded
  std::optional<bool> chunked_prefill, prefix_caching;
  std::string beyond;                     ///< not empty: the work that a replay leaves out
  std::vector<RecordedRequest> requests;  ///< by `queued`
  std::vector<RecordedSecond> seconds;
  std::vector<std::string> unknown_keys;  ///< "engine.new_key": once each, of no consequence
};

/// `where` names the text in errors. Throws InputError with one sentence: file, request or second, and reason.
RecordedRun read_recorded_run(std::string_view text, const std::string& where);
}  // namespace llmcalc
