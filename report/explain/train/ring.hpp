#pragma once
/// The ring of context-parallel ranks beside attention's core, as a formula.

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// Seconds of a ring's messages that are exposed in a training micro-batch; n: how often the pass is run.
Formula ring_time(const Setting& s, const std::string& n);

}  // namespace llmcalc::explain
