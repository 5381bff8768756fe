#pragma once
/// What would make a step faster: the change of its time where a part of the machine is a tenth better.

#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// Empty without software, whose terms it changes.
Section sensitivity_section(const Request& r, const TrainEstimate& e);

}  // namespace llmcalc
