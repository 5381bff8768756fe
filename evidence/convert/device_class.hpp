#pragma once
/// The preset that stands in for a device without one.

#include <string_view>

namespace llmcalc {

/// The name of a preset of the same kind and, where the name tells it, of the same generation ("Tesla P40" is of the
/// P100's); the H100's where the name tells neither.
std::string_view stand_in(std::string_view device);

}  // namespace llmcalc
