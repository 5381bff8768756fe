#pragma once
/// Notes about a measured throughput of training.

#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds the note that says so, where there is one.
void note_measured_scale(const TrainingAnswer& a, Report& report);

/// Says first in a report of plans that the re-scaled throughput of the best, the request's, cannot be, if so.
void note_beyond_device(const Request& r, double tokens_per_s, Report& report);

/// Adds a note that says which plan was measured, and what its step does to the times of a report and their intervals.
void note_rescaled(const Request& r, const Request& measured, Report& report);

}  // namespace llmcalc
