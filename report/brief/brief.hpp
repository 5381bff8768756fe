#pragma once
/// Short answers to the questions about a model under a plan.

#include <string_view>

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The start of a brief: software, price (if the answer has costs) and the last line. `why`: the quantity that the
/// last line suggests for `explain`.
Brief brief_of(const Request& r, std::string_view why, bool has_costs);

}  // namespace llmcalc
