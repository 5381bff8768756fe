#pragma once
/// A plan that a search found, in full.

#include <string>

#include "ask/answer/training.hpp"
#include "report/report.hpp"
#include "search/space.hpp"

namespace llmcalc {

/// Its estimated times are multiplied by the measured scale.
TrainingAnswer planned(const Request& r, const Space& space, const Candidate& c);

/// The same without a measured throughput, which is of another plan and in the estimate already.
TrainingAnswer without_measured(const TrainingAnswer& p);

/// The run of --tokens by that plan; empty without.
Section run_of(const TrainingAnswer& p);

/// "12.1 days, 20,700 GPU-hours, 40k USD"; empty without --tokens.
std::string whole_run_text(const TrainingAnswer& p);

}  // namespace llmcalc
