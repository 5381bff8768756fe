/// Start-up of Ollama (0.3 to 0.30: server.go, backend.go, device.go, and lines of llama.cpp, which runs its models).
/// If a model is loaded several times, the last load counts.

#include <algorithm>
#include <array>

#include "evidence/logs/llama_lines.hpp"
#include "evidence/logs/server_reader.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 9> ollama_words{
    " source=server.go:",  " source=routes.go:", " source=sched.go:",  " source=memory.go:", " source=ggml.go:",
    " source=backend.go:", " source=device.go:", " source=runner.go:", "msg=\"llama runner"};

/// Text of a field such as memory.required.kv="992.0 MiB" or device=CUDA0, without the brackets of lists.
std::string_view field_of(const LogLine& line, std::string_view key) {
  auto rest = line.behind(" " + std::string(key) + "=");
  if (!rest) return "";
  const bool quoted = rest->starts_with('"');
  if (quoted) rest->remove_prefix(1);
  std::string_view value = rest->substr(0, rest->find(quoted ? '"' : ' '));
  if (value.starts_with('[')) value.remove_prefix(1);
  return value;
}

std::optional<LoggedBytes> size_in(const LogLine& line, std::string_view key) {
  return size_at(field_of(line, key), line);
}

struct OllamaTerm {
  std::string_view words;
  BufferUse use;
};
constexpr std::array ollama_terms{OllamaTerm{"msg=\"model weights\"", BufferUse::weights},
                                  OllamaTerm{"msg=\"kv cache\"", BufferUse::cache},
                                  OllamaTerm{"msg=\"compute graph\"", BufferUse::compute}};

class OllamaReader {
 public:
  explicit OllamaReader(const std::vector<LogLine>& lines) {
    for (const LogLine& line : lines) {
      read(line);
      lines_.read(line);
    }
  }
  ServerStart start() && {
    ServerStart s = std::move(lines_).finished();
    if (!s.memory.weights && !s.memory.kv_cache) take_estimate(s);
    return s;
  }

 private:
  void read(const LogLine& line) {
    ServerStart& s = lines_.start();
    if (const auto version = line.behind("(version "); version && line.says("Listening on"))
      s.config.version = std::string(version->substr(0, version->find(')')));
    if (line.says("msg=\"inference compute\"") && !s.memory.total) read_device(line, s.memory);
    if (is_load(line)) lines_.clear();
    if (line.says(" --ctx-size ")) read_command(line, s);
    if (line.says("KvSize:")) read_request(line, s);
    read_terms(line);
    if (line.says(" memory.weights.total=")) estimate_ = line;
    if (line.says(" file_type=") && s.config.file_type.empty())
      s.config.file_type = gguf_file_type(field_of(line, "file_type"));
  }
  static bool is_load(const LogLine& line) {
    return line.says("msg=\"starting ") || line.says("{Operation:") || line.says(" memory.weights.total=");
  }

  static void read_device(const LogLine& line, ServerMemory& m) {
    if (field_of(line, "library") == "cpu") return;
    m.total = size_in(line, "total");
    m.free_at_start = size_in(line, "available");
  }

  /// Reads the runner's command line, whose context length covers all sequences.
  static void read_command(const LogLine& line, ServerStart& s) {
    s.tokens = line.count_behind(" --ctx-size ");
    s.config.sequences = line.count_behind(" --parallel ");
    s.config.batched_tokens = line.count_behind(" --batch-size ");
    settle_length(s);
  }
  static void settle_length(ServerStart& s) {
    if (s.tokens && s.config.sequences && *s.config.sequences > 0)
      s.config.max_model_len = *s.tokens / *s.config.sequences;
  }

  /// Reads a load request, whose cache size covers the tokens of all sequences.
  static void read_request(const LogLine& line, ServerStart& s) {
    s.tokens = line.count_behind("KvSize:");
    s.config.sequences = line.count_behind("Parallel:");
    s.config.batched_tokens = line.count_behind("BatchSize:");
    settle_length(s);
    const auto type = line.behind("KvCacheType:");
    if (type && !type->starts_with(' ')) s.config.cache_dtype = std::string(type->substr(0, type->find(' ')));
  }

  void read_terms(const LogLine& line) {
    const auto size = size_in(line, "size");
    if (!size) return;
    for (const OllamaTerm& term : ollama_terms) {
      if (!line.says(term.words)) continue;
      std::string_view device = field_of(line, "device");
      if (device.empty()) device = field_of(line, "buffer");
      if (device.empty()) device = field_of(line, "buffer_type");
      if (!device.empty()) lines_.buffers().add({term.use, "graph:", std::string(device), *size});
    }
  }

  /// If the log has no buffers, uses the estimate made before loading, split into terms if one device has all layers.
  void take_estimate(ServerStart& s) const {
    if (!estimate_) return;
    const LogLine& line = *estimate_;
    s.estimated = true;
    if (!s.memory.free_at_start) s.memory.free_at_start = size_in(line, "memory.available");
    const bool whole = field_of(line, "layers.offload") == field_of(line, "layers.model");
    if (!whole || field_of(line, "memory.available").find("iB ") != std::string_view::npos)
      return void(s.memory.granted = size_in(line, "memory.required.allocations"));
    s.memory.weights = size_in(line, "memory.weights.total");
    s.memory.kv_cache = size_in(line, "memory.required.kv");
    s.memory.activations = size_in(line, "memory.graph.full");
  }

  LlamaLines lines_{LoggedServer::ollama};
  std::optional<LogLine> estimate_;
};

}  // namespace

const ServerReader ollama_reader{.server = LoggedServer::ollama,
                                 .words = ollama_words,
                                 .read = [](const std::vector<LogLine>& lines) { return OllamaReader(lines).start(); }};

}  // namespace llmcalc
