#pragma once
/// Available memory of this machine.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes that can be allocated without swapping: Linux's estimate for the machine or, if lower, the rest of a control
/// group's limit. Absent if unreadable.
std::optional<Bytes> available_memory();

/// Free capacity of a memory.
struct AvailableMemory {
  std::optional<Bytes> bytes;  ///< free bytes; absent: unknown
  const char* of = "this machine";
};

/// Throws InputError if `needed` exceeds the capacity:
/// "WHAT needs 12.3 GiB (13207024435 bytes) and this machine has 4 GiB available; ADVICE".
void refuse_beyond_memory(Bytes needed, const char* what, const char* advice,
                          const AvailableMemory& room = {.bytes = available_memory()});

}  // namespace llmcalc::model
