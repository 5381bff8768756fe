#pragma once

#include <vector>

#include "ask/answer/process_estimate.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// M_p, the memory requirement of a training process, and M_d, the memory that the driver grants it. Bytes per GPU.
std::vector<Symbol> process_symbols(const ProcessEstimate& p);

}  // namespace llmcalc::explain
