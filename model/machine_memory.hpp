#pragma once
/// What this machine has left.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes that can be taken without swapping: what Linux says, or less where a control group allows less. Nothing where
/// neither can be asked.
std::optional<Bytes> available_memory();

/// InputError if `needed` is more: "WHAT needs 12.3 GiB (13207024435 bytes) and this machine has 4 GiB available;
/// ADVICE".
void refuse_beyond_memory(Bytes needed, const char* what, const char* advice);

}  // namespace llmcalc::model
