#include "evidence/fit/left_out.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "evidence/errors.hpp"
#include "evidence/fit/inference_fit.hpp"
#include "evidence/fit/training_fit.hpp"
#include "presets/estimators/inference_estimator.hpp"

namespace llmcalc {

namespace {

/// Prefixes of family names. Families with the same prefix are related: they are from the same cluster, program or
/// authors.
constexpr std::array kin_families{"vTrain",    "NVIDIA aiconfigurator", "TensorRT-LLM performance",
                                  "GLM-130B",  "Pope et al. 2022",      "LLMServingSim",
                                  "ROCm ATOM", "SGLang cookbook",       "kyuz0"};

/// Values fitted without a family, starting from the fit to all rows and its derivatives. Holding out a family moves
/// few parameters; parameters that only this family determines return to their defaults.
std::vector<double> fitted_without_family(const FitSet& set, double ridge, const std::string& left_out,
                                          const LinearErrors& around) {
  FitOptions options{.ridge = ridge};
  options.linear = &around;
  for (const std::string& family : set.families) options.without.push_back(kin(family) == left_out);
  return fit(set, around.values, options);
}

std::vector<double> standard_values(const FitSet& set) {
  std::vector<double> all;
  for (const ParameterCard& c : set.cards) all.push_back(c.standard);
  return all;
}

void watch_steps(FitOptions& options, const AccuracyWatch& watch) {
  if (watch) options.progress = [&](int step, double) { watch(step, options.most_steps); };
}

void predict_row(PredictedRow& r, double error) {
  const double before = r.predicted.value;
  r.predicted.value = r.measured * std::exp(error);
  for (std::optional<double>* end : {&r.predicted.low, &r.predicted.high})
    if (*end) **end *= r.predicted.value / before;
}

/// Whether a row counts in the summary of a class of times or rates.
bool is_time(const PredictedRow& r) { return r.counts() && parse<InferenceClass>(r.of.kind); }

/// Sources of times by device and by software.
class Coverage {
 public:
  explicit Coverage(const Accuracy& a) {
    for (const PredictedRow& r : a.rows)
      if (is_time(r))
        for (const std::string& key : keys(r)) sources_[key].insert(kin(r.of.family));
  }
  /// Whether no other source has the row's device, or none has its software.
  bool is_new(const PredictedRow& r) const {
    for (const std::string& key : keys(r)) {
      const auto found = sources_.find(key);
      if (found == sources_.end() || found->second.size() < 2) return true;
    }
    return false;
  }

 private:
  static std::array<std::string, 2> keys(const PredictedRow& r) { return {"on " + r.of.gpu, "with " + r.of.profile}; }
  std::map<std::string, std::set<std::string>> sources_;
};

/// Gives the rows that no other source resembles the interval of new devices and engines.
void widen_new(Accuracy& a) {
  if (a.kind != AccuracyKind::inference) return;
  const Coverage coverage(a);
  for (PredictedRow& r : a.rows) {
    const auto kind = parse<InferenceClass>(r.of.kind);
    if (!kind || !r.predicted.low || !coverage.is_new(r)) continue;
    const double factor = inference_estimator().interval_of_new(*kind).factor;
    r.predicted.low = r.predicted.value / factor;
    r.predicted.high = r.predicted.value * factor;
  }
}

/// Recomputes each row's prediction with the parameter values for its family.
template <typename F>
void replace_predictions(Accuracy& a, const FitSet& set, const F& values_of) {
  std::map<std::string_view, std::size_t> rows;
  for (std::size_t i = 0; i < set.keys.size(); ++i) rows[set.keys[i]] = i;
  for (PredictedRow& r : a.rows)
    if (const auto found = rows.find(fit_key(r.id, r.quantity)); found != rows.end())
      predict_row(r, set.error(found->second, values_of(r.of.family)));
}

}  // namespace

std::string kin(const std::string& family) {
  for (const char* begin : kin_families)
    if (family.starts_with(begin)) return begin;
  return family;
}

double chosen_ridge(AccuracyKind kind) { return kind == AccuracyKind::inference ? 3 : 0.4; }

FitSet fit_set(const MeasurementFile& file, AccuracyKind kind) {
  return kind == AccuracyKind::inference ? inference_fit_set(file.inference, file.serving)
                                         : training_fit_set(file.training);
}

std::vector<double> fitted(const FitSet& set, double ridge, std::span<const double> begin, const AccuracyWatch& watch) {
  FitOptions options{.ridge = ridge};
  watch_steps(options, watch);
  return fit_from_afar(set, begin, options);
}

std::vector<double> fitted_without(const FitSet& set, double ridge, const EstimatorTerm& term,
                                   const AccuracyWatch& watch) {
  std::vector<double> begin = standard_values(set);
  FitOptions options{.ridge = ridge};
  for (const auto& [parameter, value] : term.left_out) {
    begin[parameter] = value;
    options.fixed.push_back(parameter);
  }
  watch_steps(options, watch);
  return fit_from_afar(set, begin, options);
}

void predict_from(Accuracy& a, const FitSet& set, std::span<const double> values) {
  replace_predictions(a, set, [&](const std::string&) { return values; });
}

void leave_out(Accuracy& a, const FitSet& set, double ridge, std::span<const double> all, const AccuracyWatch& watch) {
  std::map<std::string, std::vector<double>> without;
  for (const PredictedRow& r : a.rows) without[kin(r.of.family)];
  if (watch) watch(0, static_cast<Count>(without.size()));
  const LinearErrors around = linear_errors(set, all);
  Count done = 0;
  for (auto& [family, values] : without) {
    if (watch) watch(done++, static_cast<Count>(without.size()));
    values = fitted_without_family(set, ridge, family, around);
  }
  replace_predictions(a, set, [&](const std::string& family) { return std::span<const double>(without[kin(family)]); });
  widen_new(a);
}

EstimateInterval interval_of(const std::map<std::string, std::vector<double>>& errors, double power) {
  return {std::exp(covering_width(errors, 0.9, power)), static_cast<Count>(errors.size())};
}

namespace {

using ErrorsByClass = std::map<std::string, std::map<std::string, std::vector<double>>>;

/// Absolute log errors of the rows for which `counts` holds.
template <typename Counts>
ErrorsByClass errors_by_class(const Accuracy& left_out, const Counts& counts) {
  ErrorsByClass errors;
  for (const PredictedRow& r : left_out.rows)
    if (r.counts() && counts(r))
      errors[r.of.kind][r.of.family].push_back(std::fabs(std::log(r.predicted.value / r.measured)));
  return errors;
}

IntervalsByClass intervals_of(const ErrorsByClass& errors, double power) {
  IntervalsByClass all;
  for (const auto& [kind, families] : errors) all[kind] = interval_of(families, power);
  return all;
}

/// Power of a family's size in its weight. Large sources of inference cover many configurations.
constexpr double power_of_inference = 0.5;

}  // namespace

IntervalsByClass intervals(const Accuracy& left_out) {
  const ErrorsByClass all = errors_by_class(left_out, [](const PredictedRow&) { return true; });
  if (left_out.kind != AccuracyKind::inference) return intervals_of(all, 0);
  const Coverage coverage(left_out);
  ErrorsByClass known = errors_by_class(left_out, [&](const PredictedRow& r) { return !coverage.is_new(r); });
  for (const auto& [kind, families] : all)
    if (known[kind].size() < 3) known[kind] = families;
  return intervals_of(known, power_of_inference);
}

IntervalsByClass intervals(const Accuracy& left_out, const Accuracy& in_fit) {
  IntervalsByClass all = intervals(left_out);
  if (left_out.kind != AccuracyKind::inference) return all;
  const ErrorsByClass fitted = errors_by_class(in_fit, [](const PredictedRow&) { return true; });
  for (const auto& [kind, own] : intervals_of(fitted, power_of_inference))
    if (own.factor > all[kind].factor) all[kind] = own;
  return all;
}

IntervalsByClass intervals_of_new(const Accuracy& left_out) {
  if (left_out.kind != AccuracyKind::inference) return {};
  const Coverage coverage(left_out);
  return intervals_of(errors_by_class(left_out, [&](const PredictedRow& r) { return coverage.is_new(r); }),
                      power_of_inference);
}

}  // namespace llmcalc
