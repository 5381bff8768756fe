#pragma once
/// Checks whether an Arch is possible.

#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

/// No model's width, vocabulary or context comes near this; products of four such sizes are still caught by the checked
/// arithmetic of calc/units.hpp.
inline constexpr Count max_size = Count{1} << 31;

/// Throws InputError, naming `where`, if sizes are out of range or choices contradict each other.
void check_arch(const Arch& arch, const std::string& where);

}  // namespace llmcalc
