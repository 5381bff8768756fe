#pragma once
/// How far a measured throughput of training is from the estimate: what other estimates for the machine are off by.

#include <optional>

#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// Estimated over measured tokens/s: above 1 the machine is slower than its estimate. Other plans' estimated times are
/// to be multiplied by its rescale() (presets/training_estimator.hpp). Absent without a measured throughput, or without
/// software behind the estimate.
std::optional<double> measured_scale(const Request& r, const TrainEstimate& e);

/// Adds the note that says so, where there is one.
void note_measured_scale(const Request& r, const TrainEstimate& e, Report& report);

/// A step's time, all its parts, multiplied by what the request's measured scale comes to.
StepTime rescaled(const Request& r, const StepTime& t);

/// The FLOPs that devices execute at a throughput over those that they can at their peak; above 1 it cannot be.
double share_of_peak(const Request& r, double tokens_per_s);

/// Says first in a report of plans that the re-scaled throughput of the best, the request's, cannot be, if so.
void note_beyond_device(const Request& r, double tokens_per_s, Report& report);

/// Adds a note that says which plan was measured, and what its step does to the times of a report and their intervals.
void note_rescaled(const Request& r, const Request& measured, Report& report);

}  // namespace llmcalc
