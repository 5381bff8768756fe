#pragma once
/// Intervals of estimates in rows and sentences.

#include <string>

#include "ask/answer/interval.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

/// Adds a note that names the parts of the estimate that were measured on the device, unless no part was.
void note_measured_device(const Request& r, Report& report);

/// Adds a note if the interval is wider because no row of the estimator's fit was measured on the device, or too few
/// were measured on devices of its kind.
void note_wider_training(const Request& r, Report& report);
void note_wider_inference(const Request& r, Report& report);

/// An interval as text: "4.9 to 7.6 s".
std::string interval_text(double low, double high, Unit unit);
std::string bytes_interval_text(Bytes low, Bytes high);
/// The interval around an estimated time, or around a multiple of it.
std::string interval_text(const EstimateInterval& interval, double time, Unit unit);

/// Adds the ends of a row's interval, only in JSON: "watts_low" and "watts_high".
void add_relative_ends(Section& s, const std::string& key, const std::optional<RelativeInterval>& ends, double value,
                       Unit unit = Unit::none);

/// Selects, by key, the rows whose values have an interval: times and rates.
using HasInterval = bool (*)(std::string_view key);
/// Adds the ends of the interval for these rows, only in JSON: "time_s" gets "time_low_s" and "time_high_s", "mfu" gets
/// "mfu_low" and "mfu_high".
void add_ends(Section& s, const EstimateInterval& interval, HasInterval has_interval);

}  // namespace llmcalc
