/// Start-up of llama-server, llama-cli and forks of llama.cpp.

#include <array>

#include "evidence/logs/llama_lines.hpp"
#include "evidence/logs/server_reader.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 6> llama_words{"llama_model_loader: ", "load_tensors: ", "llama_context: ",
                                                      "llama_kv_cache",       "ggml_backend_",  "llama_new_context"};

ServerStart read_llama_cpp(const std::vector<LogLine>& lines) {
  LlamaLines reader(LoggedServer::llama_cpp);
  for (const LogLine& line : lines) reader.read(line);
  return std::move(reader).finished();
}

}  // namespace

const ServerReader llama_cpp_reader{.server = LoggedServer::llama_cpp, .words = llama_words, .read = read_llama_cpp};

}  // namespace llmcalc
