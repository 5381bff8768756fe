#pragma once
/// Start-up of a vLLM server from its log (v0.2 to v0.19: worker.py, gpu_worker.py, model_runner.py, kv_cache_utils.py,
/// llm_engine.py). Values missing from the log are absent.

#include <string>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// Configuration from the line "Initializing an LLM engine" and the arguments.
struct VllmConfig {
  std::string version{}, model{}, dtype{}, quantization{}, cache_dtype{};  ///< empty: not in the log
  std::optional<Count> tensor_parallel{}, pipeline_parallel{}, data_parallel{}, max_model_len{}, batched_tokens{},
      sequences{}, block_size{};
  bool expert_parallel = false;
  std::optional<double> utilization{};  ///< fraction of the device that the server may use
};

/// Memory of one device, as its worker logs it.
struct VllmMemory {
  std::optional<LoggedBytes> total{}, free_at_start{}, granted{};
  std::optional<LoggedBytes> weights{}, libraries{}, activations{}, kv_cache{};
  std::optional<LoggedBytes> weights_and_libraries{};  ///< if logged together
  std::optional<LoggedBytes> graphs{};
  std::optional<LoggedBytes> graphs_granted{};  ///< part of the grant set aside for graphs
};

struct VllmStart {
  VllmConfig config{};
  VllmMemory memory{};
  std::optional<Count> blocks{}, tokens{};    ///< of the KV cache of the device in `memory`
  std::optional<double> concurrency{};        ///< requests of max_model_len tokens that the cache holds
  std::optional<LoggedBytes> cache_needed{};  ///< by one request, if the start failed for lack of cache
  std::optional<Count> longest{};  ///< tokens of the longest request that would fit, from the failure message
  Count workers = 0;               ///< processes that logged their memory; the first one's is kept
  /// Tokens of the cache: as logged, or blocks times the stated or derived block size (default 16).
  std::optional<Count> cache_tokens() const;
  bool says_memory() const;
};

/// Reads the start-up from the lines of a log. Throws InputError if its numbers contradict each other.
VllmStart read_vllm_start(const std::vector<LogLine>& lines);

}  // namespace llmcalc
