#pragma once
/// Counts what a program takes from the heap: allocations.cpp replaces the global operator new.

#include <cstdint>

namespace llmcalc::bench {

/// Calls of operator new, in any of its forms, since the program began.
std::int64_t allocations();

}  // namespace llmcalc::bench
