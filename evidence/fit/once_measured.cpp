#include "evidence/fit/once_measured.hpp"

#include <cmath>
#include <optional>
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

bool is_prompt(const std::string& kind) {
  return kind == name(InferenceClass::prefill) || kind == name(InferenceClass::first_token);
}
bool is_decode(const std::string& kind) {
  return kind == name(InferenceClass::decode) || kind == name(InferenceClass::served_decode);
}
bool is_paced(const std::string& kind) {
  return is_prompt(kind) || is_decode(kind) || kind == name(InferenceClass::whole_batch);
}

/// Log error of a row's time; of the reciprocal if the row is a rate.
double log_time_error(const PredictedRow& r) {
  return r.quantity.find("tok_s") != std::string::npos ? -log_error(r) : log_error(r);
}

/// Log errors of the times of one run.
struct RunErrors {
  std::optional<double> decode{}, whole{}, prompt{};
  std::vector<std::pair<std::string, double>> all{};  ///< class, and error
  /// The error that scales figures of this class.
  std::optional<double> of(const std::string& kind) const { return is_prompt(kind) ? prompt : decode ? decode : whole; }
  void add(const std::string& kind, double error) {
    all.emplace_back(kind, error);
    std::optional<double>& first = is_prompt(kind) ? prompt : is_decode(kind) ? decode : whole;
    if (!first) first = error;
  }
};

/// Source, device and engine: a measured run narrows the intervals of other runs that share all three.
using ServingMachine = std::tuple<std::string, std::string, std::string>;
using RunsById = std::map<std::string, RunErrors>;

std::map<ServingMachine, RunsById> runs_by_machine(const Accuracy& left_out) {
  std::map<ServingMachine, RunsById> all;
  for (const PredictedRow& r : left_out.rows)
    if (r.counts() && is_paced(r.of.kind))
      all[{r.of.family, r.of.gpu, r.of.software}][r.id].add(r.of.kind, log_time_error(r));
  return all;
}

/// Errors of pairs of runs by source, without and with scaling.
struct PairErrors {
  ErrorsBySource as_estimated, scaled;
};

/// Adds the errors of a run's figures after another run has been measured.
void add_pair(std::map<std::string, PairErrors>& classes, const std::string& source, const RunErrors& measured,
              const RunErrors& other) {
  for (const auto& [kind, error] : other.all) {
    const std::optional<double> known = measured.of(kind);
    if (!known) continue;
    classes[kind].as_estimated[source].push_back(std::fabs(error));
    classes[kind].scaled[source].push_back(std::fabs(error + std::log(paced_by(std::exp(-*known)))));
  }
}

std::map<std::string, PairErrors> pair_errors(const Accuracy& left_out) {
  std::map<std::string, PairErrors> classes;
  for (const auto& [machine, runs] : runs_by_machine(left_out))
    for (const auto& [id, measured] : runs)
      for (const auto& [other_id, other] : runs)
        if (id != other_id) add_pair(classes, kin(std::get<0>(machine)), measured, other);
  return classes;
}

/// Power of a source's pairs in its weight. Pairs grow with the square of the runs, whose power is 1/2 (left_out.cpp).
constexpr double power_of_pairs = 0.25;

}  // namespace

IntervalsByClass intervals_after_a_run(const Accuracy& left_out, const IntervalsByClass& usual) {
  IntervalsByClass all;
  for (const auto& [kind, errors] : pair_errors(left_out)) {
    const auto base = usual.find(kind);
    if (base == usual.end()) continue;
    const double before = std::log(interval_of(errors.as_estimated, power_of_pairs).factor),
                 after = std::log(interval_of(errors.scaled, power_of_pairs).factor);
    if (after < before)
      all[kind] = {std::pow(base->second.factor, after / before), static_cast<Count>(errors.scaled.size())};
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
