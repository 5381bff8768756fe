#pragma once
/// A log with memory data of a device: a server's start-up, PyTorch's out-of-memory message or allocator table, or
/// reports of training software. The content determines the kind.

#include <string>
#include <string_view>

#include "calc/choice.hpp"
#include "evidence/logs/memory_summary.hpp"
#include "evidence/logs/out_of_memory.hpp"
#include "evidence/logs/server_start.hpp"
#include "evidence/logs/training_memory.hpp"

namespace llmcalc {

enum class MemoryLogKind : std::uint8_t { server, out_of_memory, summary, training };

/// All memory data of a log. `kind` is the most specific kind found: an out-of-memory failure takes precedence over a
/// table, and a table over a start-up or a training run.
struct MemoryLog {
  MemoryLogKind kind = MemoryLogKind::server;
  std::string file{};
  ServerStart server{};
  OutOfMemoryLog out_of_memory{};
  MemorySummaryLog summary{};
  TrainingMemory training{};
  bool loading = false;  ///< whether memory ran out while a server loaded its weights

  /// Name of the kind in JSON: "vllm_start", "out_of_memory".
  std::string_view kind_name() const;
  /// Whether the log is from a server, which may have run out of memory.
  bool is_of_server() const { return server.recognized; }
};

/// Reads a log. Throws InputError if the text is empty or binary, has no memory data, or has impossible numbers.
MemoryLog read_memory_log(std::string_view text, const std::string& file);

}  // namespace llmcalc
