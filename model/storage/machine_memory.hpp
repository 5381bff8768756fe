#pragma once
/// Available memory of this machine.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes that can be allocated without swapping: Linux's figure, or a control group's if less. Absent if neither can be
/// read.
std::optional<Bytes> available_memory();

/// Room in a memory.
struct MemoryRoom {
  std::optional<Bytes> bytes;  ///< nothing: not known
  const char* of = "this machine";
};

/// InputError if `needed` is more than the room: "WHAT needs 12.3 GiB (13207024435 bytes) and this machine has 4 GiB
/// available; ADVICE".
void refuse_beyond_memory(Bytes needed, const char* what, const char* advice,
                          const MemoryRoom& room = {.bytes = available_memory()});

}  // namespace llmcalc::model
