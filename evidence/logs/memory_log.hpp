#pragma once
/// A log that says where a device's memory went: the start of a vLLM server, PyTorch's message that there is none left,
/// or its table of the allocator. The content tells which.

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

/// All that a log says; the kind is of what is asked about: a failure comes before a table, a table before a start.
struct MemoryLog {
  MemoryLogKind kind = MemoryLogKind::vllm;
  std::string file{};
  VllmStart vllm{};
  OutOfMemoryLog out_of_memory{};
  MemorySummaryLog summary{};
};

/// Throws InputError where the text is empty, is none, says none of this, or has numbers that cannot be.
MemoryLog read_memory_log(std::string_view text, const std::string& file);

}  // namespace llmcalc
