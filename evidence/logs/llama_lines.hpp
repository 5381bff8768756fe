#pragma once
/// Log lines of llama.cpp, as printed by its own server, llama-cli and Ollama (2024 to 2026: llama-model.cpp,
/// llama-context.cpp, llama-kv-cache.cpp, ggml-cuda.cu). Function names change between versions, so only the words
/// after them are matched.

#include "evidence/logs/llama_buffers.hpp"

namespace llmcalc {

class LlamaLines {
 public:
  explicit LlamaLines(LoggedServer server) { s_.server = server; }
  void read(const LogLine& line);
  /// Discards the memory of an earlier load.
  void clear();
  ServerStart& start() { return s_; }
  LlamaBuffers& buffers() { return buffers_; }
  /// The server start, with the memory terms of the first device.
  ServerStart finished() &&;

 private:
  void read_version(const LogLine& line);
  void read_model(const LogLine& line);
  void read_device(const LogLine& line);
  void read_cache(const LogLine& line);
  void read_limits(const LogLine& line);
  void read_failure(const LogLine& line);

  ServerStart s_;
  LlamaBuffers buffers_;
  std::optional<LoggedBytes> projected_free_;  ///< free memory of all devices
};

/// File type of a GGUF file as --weight-precision accepts it: "q4_k_m" for "Q4_K - Medium". Empty if unknown.
std::string gguf_file_type(std::string_view said);

}  // namespace llmcalc
