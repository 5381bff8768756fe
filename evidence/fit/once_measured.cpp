#include "evidence/fit/once_measured.hpp"

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "calc/choice.hpp"
#include "evidence/errors.hpp"
#include "evidence/fit/left_out.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {
namespace {

double log_error(const PredictedRow& r) { return std::log(r.predicted.value / r.measured); }

using ErrorsBySource = std::map<std::string, std::vector<double>>;

/// Device, stack and precision: a measured step narrows the interval of other steps that share all three.
using MeasuredMachine = std::tuple<std::string, std::string, std::string>;

/// Errors of rows after rescaling each row by every other row on the same machine.
std::vector<double> rescaled_errors(const std::map<MeasuredMachine, std::vector<double>>& machines) {
  std::vector<double> all;
  for (const auto& [machine, errors] : machines)
    for (std::size_t timed = 0; timed < errors.size(); ++timed)
      for (std::size_t other = 0; other < errors.size(); ++other)
        if (timed != other) all.push_back(std::fabs(errors[other] + std::log(rescale(std::exp(-errors[timed])))));
  return all;
}

}  // namespace

IntervalsByClass intervals_after_a_step(const Accuracy& left_out) {
  std::map<std::string, std::map<std::string, std::map<MeasuredMachine, std::vector<double>>>> classes;
  for (const PredictedRow& r : left_out.rows)
    if (r.counts()) classes[r.of.kind][r.of.family][{r.of.gpu, r.of.software, r.of.precision}].push_back(log_error(r));
  IntervalsByClass all;
  for (const auto& [kind, sources] : classes) {
    ErrorsBySource errors;
    for (const auto& [source, machines] : sources)
      if (std::vector<double> pairs = rescaled_errors(machines); !pairs.empty()) errors[source] = std::move(pairs);
    if (!errors.empty()) all[kind] = interval_of(errors);
  }
  return all;
}

namespace {

/// Square of an interval's width, ln(factor).
double square_of(const EstimateInterval& interval) { return std::pow(std::log(interval.factor), 2); }

/// Class of a recorded run's figure; empty if the figure has no class.
std::string class_of_quantity(const std::string& quantity) {
  if (quantity.starts_with("tpot_")) return std::string(name(InferenceClass::served_decode));
  if (quantity.starts_with("ttft_")) return std::string(name(InferenceClass::first_token));
  return "";
}

}  // namespace

IntervalsByClass intervals_with_tables(const Accuracy& replays, const IntervalsByClass& without) {
  std::map<std::string, ErrorsBySource> classes;
  for (const PredictedRow& r : replays.rows)
    if (const std::string kind = class_of_quantity(r.quantity); r.counts() && !kind.empty())
      classes[kind][kin(r.of.family)].push_back(std::fabs(log_error(r)));
  IntervalsByClass all;
  for (const auto& [kind, sources] : classes) {
    const auto base = without.find(kind);
    if (base == without.end()) continue;
    double squares = square_of(base->second);
    for (const auto& [source, errors] : sources) squares += square_of(interval_of({{source, errors}}));
    const auto n = static_cast<double>(1 + sources.size());
    all[kind] = {std::exp(std::sqrt(squares / n)), base->second.families + static_cast<Count>(sources.size())};
  }
  return all;
}

}  // namespace llmcalc
