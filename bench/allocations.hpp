#pragma once
/// Counts a program's heap allocations: allocations.cpp replaces the global operator new.

#include <cstdint>

namespace llmcalc::bench {

/// Number of calls to operator new, in any form, since the program started.
std::int64_t allocations();

}  // namespace llmcalc::bench
