#include "evidence/logs/memory_log.hpp"

#include <fmt/format.h>

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

}  // namespace

MemoryLog read_memory_log(std::string_view text, const std::string& file) {
  check_text(text, file);
  const std::string plain = plain_log(text);
  const std::vector<LogLine> lines = log_lines(plain, file);
  MemoryLog log{.file = file,
                .vllm = read_vllm_start(lines),
                .out_of_memory = read_out_of_memory(plain, file),
                .summary = read_memory_summary(lines)};
  if (!log.out_of_memory.messages.empty())
    log.kind = MemoryLogKind::out_of_memory;
  else if (!log.summary.devices.empty())
    log.kind = MemoryLogKind::summary;
  else if (!log.vllm.says_memory())
    throw InputError(
        fmt::format("{}: no report of memory use found; pass the start of a vLLM server's log (\"model weights take\", "
                    "\"Available KV cache memory\"), PyTorch's \"CUDA out of memory. Tried to allocate\" or tables of "
                    "torch.cuda.memory_summary()",
                    file));
  return log;
}

}  // namespace llmcalc
