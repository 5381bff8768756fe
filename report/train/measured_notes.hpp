#pragma once
/// Notes about a measured training throughput.

#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds the note about the measured scale, if the request has one.
void note_measured_scale(const TrainingAnswer& a, Report& report);

/// Prepends a note to a report of plans if the best plan's rescaled throughput exceeds the devices' peak.
void note_beyond_device(const Request& r, double tokens_per_s, Report& report);

/// Adds a note that names the measured plan and describes its effect on the report's times and intervals.
void note_rescaled(const Request& r, const Request& measured, Report& report);

}  // namespace llmcalc
