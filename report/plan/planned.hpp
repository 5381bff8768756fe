#pragma once
/// A plan found by a search, computed in full.

#include <string>

#include "ask/answer/training.hpp"
#include "report/report.hpp"
#include "search/space.hpp"

namespace llmcalc {

/// The answer for a plan. Estimated times are multiplied by the measured scale.
TrainingAnswer planned(const Request& r, const Space& space, const Candidate& c);

/// The same answer without the measured throughput, which was measured with another plan and is already part of the
/// estimate.
TrainingAnswer without_measured(const TrainingAnswer& p);

/// The run over --tokens with this plan; empty without --tokens.
Section run_of(const TrainingAnswer& p);

/// Duration, GPU-hours and cost of the run: "12.1 days, 20,700 GPU-hours, 40k USD"; empty without --tokens.
std::string whole_run_text(const TrainingAnswer& p);

}  // namespace llmcalc
