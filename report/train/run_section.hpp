#pragma once
/// The section about a whole training run.

#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The whole run; empty if there is neither --tokens nor a measured throughput.
Section run_section(const TrainingAnswer& a);
/// Duration, GPU-hours and cost of the run: "12.1 days, 20,700 GPU-hours, 40k USD"; all three include failures if
/// --mtbf is set.
std::string run_text(const WholeTraining& w);

}  // namespace llmcalc
