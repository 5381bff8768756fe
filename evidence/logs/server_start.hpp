#pragma once
/// Start-up of a server of any kind, read from its log. Values missing from the log are absent.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/choice.hpp"
#include "evidence/logs/log_line.hpp"

namespace llmcalc {

/// Servers whose logs are read; their names identify the kind of log in JSON.
enum class LoggedServer : std::uint8_t { vllm, sglang, tensorrt_llm, llama_cpp, ollama, tgi };
template <>
inline constexpr auto choices<LoggedServer> = std::array{Choice{LoggedServer::vllm, "vllm_start"},
                                                         Choice{LoggedServer::sglang, "sglang_start"},
                                                         Choice{LoggedServer::tensorrt_llm, "tensorrt_llm_start"},
                                                         Choice{LoggedServer::llama_cpp, "llama_cpp_start"},
                                                         Choice{LoggedServer::ollama, "ollama_start"},
                                                         Choice{LoggedServer::tgi, "tgi_start"}};

struct ServerProgram {
  std::string_view title;   ///< name in messages: "TensorRT-LLM"
  std::string_view engine;  ///< name of the preset in presets/software
};
const ServerProgram& program(LoggedServer s);
/// Whether llama.cpp does the server's computation.
constexpr bool is_llama(LoggedServer s) { return s == LoggedServer::llama_cpp || s == LoggedServer::ollama; }

/// Configuration that a server prints: its version, arguments and limits.
struct ServerConfig {
  std::string version{}, model{}, dtype{}, quantization{}, cache_dtype{};  ///< all empty if not in the log
  std::string file_type{};  ///< type of a GGUF file, as --weight-precision accepts it: "q4_k_m"
  std::optional<Count> tensor_parallel{}, pipeline_parallel{}, data_parallel{}, max_model_len{}, batched_tokens{},
      sequences{}, block_size{};
  bool expert_parallel = false;
  std::optional<double> utilization{};  ///< fraction of the device that the server may use
};

/// Memory of one device, as its worker logs it.
struct ServerMemory {
  std::optional<LoggedBytes> total{}, free_at_start{}, granted{};
  std::optional<LoggedBytes> weights{}, libraries{}, activations{}, kv_cache{};
  std::optional<LoggedBytes> weights_and_libraries{};  ///< set if the log states only the sum of the two
  std::optional<LoggedBytes> draft{};                  ///< weights and cache of a draft model
  std::optional<LoggedBytes> workspaces{};             ///< buffers of the runtime, allocated once
  std::optional<LoggedBytes> graphs{};
  std::optional<LoggedBytes> graphs_granted{};  ///< part of the grant that is reserved for graphs
  std::optional<LoggedBytes> free{};            ///< free memory after the start
  std::optional<LoggedBytes> host{};            ///< bytes of buffers in host memory
};

/// Weights and cache summed over all devices, and weights on the host, if buffers are logged by device.
struct BufferSpread {
  Bytes device_weights{}, host_weights{}, cache{};
  bool all_layers = false;  ///< whether the log states that every layer is on a device
  bool mapped = false;      ///< whether parts of the file are mapped into host memory, even parts on a device
};

/// Purpose of a failed memory request.
enum class FailedPart : std::uint8_t { weights, kv_cache, activations, unknown };
struct ServerFailure {
  FailedPart part = FailedPart::unknown;
  std::optional<LoggedBytes> asked{};
};

struct ServerStart {
  LoggedServer server = LoggedServer::vllm;
  bool recognized = false;  ///< whether the log has lines of this server
  ServerConfig config{};
  ServerMemory memory{};
  BufferSpread spread{};
  std::optional<Count> blocks{}, tokens{};    ///< size of the KV cache of the device in `memory`
  std::optional<double> concurrency{};        ///< requests of max_model_len tokens that fit in the cache
  std::optional<LoggedBytes> cache_needed{};  ///< cache that one request needs, if the start failed for lack of cache
  std::optional<Count> longest{};             ///< tokens of the longest request that fits, as the server reports it
  std::optional<ServerFailure> failure{};     ///< startup failure; cleared if a later attempt succeeds
  bool estimated = false;                     ///< whether `memory` is the server's estimate before loading
  Count workers = 0;  ///< number of processes or devices that logged memory; only the first one's is stored
  /// Cache size in tokens: as logged, or blocks times the stated or derived block size (default 16).
  std::optional<Count> cache_tokens() const;
  bool says_memory() const;
};

/// Sets `to` to `said` unless `said` is empty.
void take_said(std::string& to, const std::string& said);
/// The sum of two sizes; an absent one counts as 0.
std::optional<LoggedBytes> joined(const std::optional<LoggedBytes>& a, const std::optional<LoggedBytes>& b);

/// Throws InputError if a term exceeds the device memory or the cache has more than 2^63 tokens.
void check_start(const ServerStart& s, std::string_view file);

}  // namespace llmcalc
