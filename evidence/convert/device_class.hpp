#pragma once
/// Stand-in preset for a device without a preset.

#include <string_view>

namespace llmcalc {

/// Name of a preset of the same kind and, if recognizable, the same generation (P100 for "Tesla P40"); H100 if the
/// name indicates neither.
std::string_view stand_in(std::string_view device);

}  // namespace llmcalc
