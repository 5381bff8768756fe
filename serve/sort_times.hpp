#pragma once
/// Sorts times of at least 0 in ascending order, in place.

#include <span>

#include "calc/units.hpp"

namespace llmcalc {

void sort_times(std::span<Seconds> all);

}  // namespace llmcalc
