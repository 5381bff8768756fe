#pragma once
/// The start of a vLLM server as its log tells it (v0.2 to v0.19: worker.py, gpu_worker.py, model_runner.py,
/// kv_cache_utils.py, llm_engine.py). What a log does not say is absent.

#include <string>
#include <vector>

#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// The configuration, as the line "Initializing an LLM engine" and the arguments say it.
struct VllmConfig {
  std::string version{}, model{}, dtype{}, quantization{}, cache_dtype{};  ///< empty: not said
  std::optional<Count> tensor_parallel{}, pipeline_parallel{}, data_parallel{}, max_model_len{}, batched_tokens{},
      sequences{}, block_size{};
  bool expert_parallel = false;
  std::optional<double> utilization{};  ///< share of the device that the server may fill
};

/// Memory of one device, as its worker says it.
struct VllmMemory {
  std::optional<LoggedBytes> total{}, free_at_start{}, granted{};
  std::optional<LoggedBytes> weights{}, libraries{}, activations{}, kv_cache{};
  std::optional<LoggedBytes> weights_and_libraries{};  ///< where they are said together
  std::optional<LoggedBytes> graphs{};
  std::optional<LoggedBytes> graphs_granted{};  ///< what was set aside for them of what is granted
};

struct VllmStart {
  VllmConfig config{};
  VllmMemory memory{};
  std::optional<Count> blocks{}, tokens{};    ///< of the KV cache of one device, that whose memory is kept
  std::optional<double> concurrency{};        ///< requests of max_model_len tokens that it holds
  std::optional<LoggedBytes> cache_needed{};  ///< by one request, where the start failed for want of it
  std::optional<Count> longest{};             ///< tokens of a request that would fit, as that message estimates
  Count workers = 0;                          ///< processes that told their memory; the first one's is kept
  /// Tokens of the cache: said, or blocks of 16 (or the stated size) tokens.
  std::optional<Count> cache_tokens() const;
  bool says_memory() const;
};

/// Throws InputError where the numbers contradict each other.
VllmStart read_vllm_start(const std::vector<LogLine>& lines);

}  // namespace llmcalc
