#pragma once
/// Readers of servers' logs, one per server. The content of a log determines its reader.

#include <span>
#include <string_view>
#include <vector>

#include "evidence/logs/server_start.hpp"

namespace llmcalc {

struct ServerReader {
  LoggedServer server;
  std::span<const std::string_view> words;  ///< words of which any one identifies a line of this server
  ServerStart (*read)(const std::vector<LogLine>&);
};
extern const ServerReader vllm_reader, sglang_reader, tensorrt_llm_reader, llama_cpp_reader, ollama_reader, tgi_reader;

/// Reads the start-up with the first reader that finds memory data of its server or, if no reader does, with the first
/// reader that finds its identifying words. Throws InputError if the numbers of a log contradict each other.
ServerStart read_server_start(const std::vector<LogLine>& lines);

}  // namespace llmcalc
