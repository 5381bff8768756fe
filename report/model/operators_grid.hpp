#pragma once
/// A table of operators.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// One line per operator of a training micro-batch, a prefill or a decode step.
Grid operators_grid(const Request& r, Phase phase);

}  // namespace llmcalc
