#pragma once
/// Validation of an Arch.

#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

/// Limit on sizes, far above the width, vocabulary or context of any model. Products of several such sizes may
/// overflow, which the checked arithmetic in calc/units.hpp detects.
inline constexpr Count max_size = Count{1} << 31;

/// Throws an InputError that names `where` if a size is out of range or options contradict each other.
void check_arch(const Arch& arch, const std::string& where);

}  // namespace llmcalc
