#include "evidence/left_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "evidence/errors.hpp"
#include "evidence/training_stack.hpp"

namespace llmcalc {

namespace {

/// Families whose runs are one another's: vTrain's two sets are of one cluster and one program.
std::string kin(const std::string& family) { return family.starts_with("vTrain") ? "vTrain" : family; }

constexpr int steps_without_a_family = 8;  // from the fit to all rows

TrainingParameters fitted_without(const std::vector<FitRow>& rows, const std::string& left_out,
                                  const TrainingParameters& begin) {
  std::vector<FitRow> rest;
  for (const FitRow& r : rows)
    if (kin(r.family) != left_out) rest.push_back(r);
  return fit(rest, begin, {.ridge = chosen_ridge, .most_steps = steps_without_a_family});
}

}  // namespace

namespace {
TrainingParameters fitted_from(const MeasurementFile& file, const TrainingParameters& begin, FitOptions options,
                               const AccuracyWatch& watch) {
  options.ridge = chosen_ridge;
  if (watch) options.progress = [&](int step, double) { watch(step, options.most_steps); };
  return fit(fit_rows(file.training, Devices()), begin, options);
}

/// Predicts each row by the parameters of its family.
template <typename F>
void replace_predictions(Accuracy& a, const MeasurementFile& file, const F& parameters_of) {
  const Devices devices;
  std::map<std::string_view, PredictedRow*> by_id;
  for (PredictedRow& r : a.rows) by_id[r.id] = &r;
  for (const TrainingRow& row : file.training) {
    const auto found = by_id.find(row.id);
    if (found == by_id.end()) continue;
    PredictedRow& r = *found->second;
    const TrainingCase c = training_case(row, devices);
    const double before = r.predicted.value;
    r.predicted.value = estimated_step(c, training_stack(c), parameters_of(r.of.family)).value;
    for (std::optional<double>* end : {&r.predicted.low, &r.predicted.high})
      if (*end) **end *= r.predicted.value / before;
  }
}
}  // namespace

TrainingParameters fitted(const MeasurementFile& file, const AccuracyWatch& watch) {
  return fitted_from(file, {}, {}, watch);
}

TrainingParameters fitted_without(const MeasurementFile& file, const EstimatorTerm& term, const AccuracyWatch& watch) {
  TrainingParameters begin;
  FitOptions options;
  for (const auto& [parameter, value] : term.left_out) {
    begin.values()[static_cast<std::size_t>(parameter)] = value;
    options.fixed.push_back(parameter);
  }
  return fitted_from(file, begin, options, watch);
}

void predict_again(Accuracy& a, const MeasurementFile& file, const TrainingParameters& p) {
  replace_predictions(a, file, [&](const std::string&) { return p; });
}

void leave_out(Accuracy& a, const MeasurementFile& file, const TrainingParameters& all, const AccuracyWatch& watch) {
  const std::vector<FitRow> rows = fit_rows(file.training, Devices());
  std::map<std::string, TrainingParameters> without;
  for (const PredictedRow& r : a.rows) without[kin(r.of.family)];
  Count done = 0;
  for (auto& [family, parameters] : without) {
    if (watch) watch(done++, static_cast<Count>(without.size()));
    parameters = fitted_without(rows, family, all);
  }
  replace_predictions(a, file, [&](const std::string& family) { return without[kin(family)]; });
}

std::array<EstimateInterval, 3> intervals(const Accuracy& left_out) {
  std::array<EstimateInterval, 3> all{};
  for (const auto& c : choices<EstimateClass>) {
    std::map<std::string, std::vector<double>> errors;
    for (const PredictedRow& r : left_out.rows)
      if (r.of.kind == c.name) errors[r.of.family].push_back(std::fabs(std::log(r.predicted.value / r.measured)));
    all[static_cast<std::size_t>(c.value)] = {std::exp(quantile_of_groups(errors, 0.9)),
                                              static_cast<Count>(errors.size())};
  }
  return all;
}

}  // namespace llmcalc
