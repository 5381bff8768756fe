#pragma once
/// The ring of context-parallel ranks, overlapped with the attention core, as a formula.

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// Exposed seconds of a ring's messages in a training micro-batch; n: number of passes.
Formula ring_time(const Setting& s, const std::string& n);

}  // namespace llmcalc::explain
