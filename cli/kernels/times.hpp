#pragma once
/// Report sections that compare times with predictions, and their conclusion.

#include <string>
#include <vector>

#include "report/plan/plan_goals.hpp"
#include "report/report.hpp"
#include "validate/timing.hpp"

namespace llmcalc {

using Times = std::vector<std::vector<validate::Timing>>;  ///< times of each case

/// Adds the times of one model: a line per step, pass and operator.
void add_times(Report& report, const std::vector<validate::Timing>& all);

/// Adds the times of a suite: whole steps and passes, a line per case.
void add_suite_times(Report& report, const std::vector<std::string>& names, const Times& times);

/// A sentence with the errors of whole steps, prefills and decodes; empty without times.
std::string time_conclusion(const Times& times);

/// Whether every case was timed and every whole step, prefill and decode is within the band.
bool in_time(const Times& times);

/// A clause with the whole step or pass furthest from its prediction, or a statement that no step was timed.
std::string worst_time(const std::vector<std::string>& names, const Times& times);

}  // namespace llmcalc
