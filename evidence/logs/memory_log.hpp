#pragma once
/// A log of a device's memory: the start-up of a vLLM server, PyTorch's out-of-memory message, or its allocator table.
/// The content determines the kind.

#include <string>
#include <string_view>

#include "calc/choice.hpp"
#include "evidence/logs/memory_summary.hpp"
#include "evidence/logs/out_of_memory.hpp"
#include "evidence/logs/vllm_start.hpp"

namespace llmcalc {

enum class MemoryLogKind : std::uint8_t { vllm, out_of_memory, summary };
template <>
inline constexpr auto choices<MemoryLogKind> =
    std::array{Choice{MemoryLogKind::vllm, "vllm_start"}, Choice{MemoryLogKind::out_of_memory, "out_of_memory"},
               Choice{MemoryLogKind::summary, "memory_summary"}};

/// All memory data of a log. `kind` is the most specific one: a failure before a table, a table before a start-up.
struct MemoryLog {
  MemoryLogKind kind = MemoryLogKind::vllm;
  std::string file{};
  VllmStart vllm{};
  OutOfMemoryLog out_of_memory{};
  MemorySummaryLog summary{};
};

/// Reads a log. Throws InputError if the text is empty or binary, contains no such log, or has impossible numbers.
MemoryLog read_memory_log(std::string_view text, const std::string& file);

}  // namespace llmcalc
