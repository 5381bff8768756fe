#pragma once
/// Sections about FLOPs: by operator, by named formula, for a whole run.

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section flops_section(const Request& r);
/// The named formulas, next to the FLOPs counted by operator.
Section formulas_section(const Request& r);
/// Training compute for --tokens; empty without it.
Section run_flops_section(const Request& r);

}  // namespace llmcalc
