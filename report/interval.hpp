#pragma once
/// Intervals of estimates in rows and sentences.

#include <string>

#include "ask/answer/interval.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

/// Adds a note that says what of the estimate was measured on the device, where anything was.
void note_measured_device(const Request& r, Report& report);

/// Adds a note where the interval is wider for the device's sake, in training or in inference: no row that the
/// estimator was fitted to was measured on it, or too few on devices of its kind.
void note_wider_training(const Request& r, Report& report);
void note_wider_inference(const Request& r, Report& report);

/// "4.9 to 7.6 s"
std::string interval_text(double low, double high, Unit unit);
std::string bytes_interval_text(Bytes low, Bytes high);
/// The ends of the interval around an estimated time, or around what is as many times as much.
std::string interval_text(const EstimateInterval& interval, double time, Unit unit);

/// Rows whose values have an interval: times and rates, by their keys.
using HasInterval = bool (*)(std::string_view key);
/// Adds the ends of the interval of such rows, which JSON alone shows: "time_s" has "time_low_s" and "time_high_s",
/// "mfu" has "mfu_low" and "mfu_high".
void add_ends(Section& s, const EstimateInterval& interval, HasInterval has_interval);

}  // namespace llmcalc
