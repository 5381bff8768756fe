#include "evidence/logs/memory_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "evidence/logs/server_reader.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

void check_text(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw InputError(fmt::format("{}: the log is empty; pass a log that reports memory use", file));
  if (text.find('\0') != std::string_view::npos)
    throw InputError(
        fmt::format("{}: the log contains null bytes, so it is binary or UTF-16; pass it as plain text", file));
}

bool says_any(const std::vector<LogLine>& lines, std::span<const std::string_view> words) {
  return std::any_of(lines.begin(), lines.end(), [&](const LogLine& line) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return line.says(w); });
  });
}

/// Whether memory ran out while weights were loaded: the server has not logged them, and the stack frames belong to
/// loading, not to a pass.
bool ran_out_at_loading(const MemoryLog& log, const std::vector<LogLine>& lines) {
  constexpr std::array<std::string_view, 9> loads{"load_model",         "create_weights", "load_weights",
                                                  "load_single_module", "weight_loader",  "Load weight begin",
                                                  "linear weights:",    "in convert",     "Starting to load model"};
  constexpr std::array<std::string_view, 9> passes{"in profile_run", "in _dummy_run",    "in determine_",
                                                   "in warmup",      "in capture",       "in _initialize_kv_cache",
                                                   "in forward",     "in execute_model", "run_engine_loop"};
  const ServerMemory& m = log.server.memory;
  if (!log.is_of_server() || m.weights || m.weights_and_libraries) return false;
  if (log.out_of_memory.messages[0].private_pools) return false;
  return says_any(lines, loads) && !says_any(lines, passes);
}

/// Reads all parts that a log may have.
MemoryLog read_parts(std::string_view plain, const std::vector<LogLine>& lines, const std::string& file) {
  try {
    return {.file = file,
            .server = read_server_start(lines),
            .out_of_memory = read_out_of_memory(plain, file),
            .summary = read_memory_summary(lines),
            .training = read_training_memory(lines)};
  } catch (const Overflow&) {
    throw InputError(fmt::format("{}: sizes add up to more than 2^63 bytes; pass the unmodified log", file));
  }
}

/// The kind of a log, if it contains any memory data.
std::optional<MemoryLogKind> kind_of(const MemoryLog& log) {
  if (!log.out_of_memory.messages.empty()) return MemoryLogKind::out_of_memory;
  if (!log.summary.devices.empty()) return MemoryLogKind::summary;
  if (log.server.says_memory()) return MemoryLogKind::server;
  return log.training.says_memory() ? std::optional(MemoryLogKind::training) : std::nullopt;
}

}  // namespace

std::string_view MemoryLog::kind_name() const {
  constexpr std::array<std::string_view, 4> names{"", "out_of_memory", "memory_summary", "training_memory"};
  return kind == MemoryLogKind::server ? name(server.server) : names[static_cast<std::size_t>(kind)];
}

MemoryLog read_memory_log(std::string_view text, const std::string& file) {
  check_text(text, file);
  const std::string plain = plain_log(text);
  const std::vector<LogLine> lines = log_lines(plain, file);
  MemoryLog log = read_parts(plain, lines, file);
  const auto kind = kind_of(log);
  if (!kind)
    throw InputError(fmt::format(
        "{}: no report of memory use found; pass one of: the start of a server log (vLLM with \"model weights "
        "take\" or \"Available KV cache memory\", SGLang, TensorRT-LLM, llama.cpp, Ollama, TGI); memory "
        "reports from Megatron-LM, NeMo, DeepSpeed, torchtune or torchtitan; PyTorch's message \"CUDA out of "
        "memory. Tried to allocate ...\"; tables from torch.cuda.memory_summary()",
        file));
  log.kind = *kind;
  log.loading = log.kind == MemoryLogKind::out_of_memory && ran_out_at_loading(log, lines);
  return log;
}

}  // namespace llmcalc
