#pragma once
/// Counts a program's heap allocations: allocations.cpp replaces the global operator new.

#include <cstdint>

namespace llmcalc::bench {

/// Calls of operator new, in any form, since the program began.
std::int64_t allocations();

}  // namespace llmcalc::bench
