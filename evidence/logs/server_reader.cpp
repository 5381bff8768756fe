#include "evidence/logs/server_reader.hpp"

#include <algorithm>
#include <array>

namespace llmcalc {

namespace {

/// All readers, in the order in which they are tried. The order matters because an Ollama log contains lines of
/// llama.cpp, and other servers print warnings of vLLM's modules.
const std::array readers{&ollama_reader, &sglang_reader,    &tensorrt_llm_reader,
                         &tgi_reader,    &llama_cpp_reader, &vllm_reader};

bool recognizes(const ServerReader& reader, const LogLine& line) {
  return std::any_of(reader.words.begin(), reader.words.end(), [&](std::string_view w) { return line.says(w); });
}

bool recognizes(const ServerReader& reader, const std::vector<LogLine>& lines) {
  return std::any_of(lines.begin(), lines.end(), [&](const LogLine& line) { return recognizes(reader, line); });
}

}  // namespace

ServerStart read_server_start(const std::vector<LogLine>& lines) {
  std::optional<ServerStart> first;
  for (const ServerReader* reader : readers) {
    const bool recognized = recognizes(*reader, lines);
    if (!recognized && reader != &vllm_reader) continue;
    ServerStart s = reader->read(lines);
    s.server = reader->server;
    check_start(s, lines.empty() ? "" : lines.front().file);
    s.recognized = recognized || s.says_memory();
    if (s.says_memory()) return s;
    if (recognized && !first) first = std::move(s);
  }
  return first.value_or(ServerStart{});
}

}  // namespace llmcalc
