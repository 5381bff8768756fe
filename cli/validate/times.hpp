#pragma once
/// Times beside their predictions in a report, and what they come to.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "validate/timing.hpp"

namespace llmcalc {

using Times = std::vector<std::vector<validate::Timing>>;  ///< of every case

/// Of one model: a line per step, pass and operator.
void add_times(Report& report, const std::vector<validate::Timing>& all);

/// Of a suite: steps and passes as a whole, a line per case.
void add_suite_times(Report& report, const std::vector<std::string>& names, const Times& times);

/// How far whole steps, prefills and decodes were from their predictions; empty where nothing was timed.
std::string time_conclusion(const Times& times);

/// Of every case something was timed, and every whole step, prefill and decode is within the band.
bool in_time(const Times& times);

/// The whole step or pass that is furthest from its prediction, in a clause; or that there is none.
std::string worst_time(const std::vector<std::string>& names, const Times& times);

}  // namespace llmcalc
