#pragma once
/// What this machine has left.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes that can be taken without swapping: what Linux says, or less where a control group allows less. Nothing where
/// neither can be asked.
std::optional<Bytes> available_memory();

/// Memory that there is room in.
struct Room {
  std::optional<Bytes> bytes;  ///< nothing: not known
  const char* of = "this machine";
};

/// InputError if `needed` is more than the room: "WHAT needs 12.3 GiB (13207024435 bytes) and this machine has 4 GiB
/// available; ADVICE".
void refuse_beyond_memory(Bytes needed, const char* what, const char* advice,
                          const Room& room = {.bytes = available_memory()});

}  // namespace llmcalc::model
