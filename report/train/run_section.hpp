#pragma once
/// The section about a whole training run.

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The whole run; empty if neither --tokens nor a measured throughput is given.
Section run_section(const Request& r, const TrainEstimate& e);

}  // namespace llmcalc
