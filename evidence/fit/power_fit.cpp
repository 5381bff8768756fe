#include "evidence/fit/power_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calc/elementary.hpp"
#include "evidence/estimated.hpp"
#include "evidence/fit/left_out.hpp"
#include "evidence/names/inference_stack.hpp"

namespace llmcalc {

namespace {

using PowerRows = std::vector<PowerFitRow>;

std::string model_on_device(const PowerFitRow& r) { return r.model + " on " + r.device; }

/// Rows of each model on each device.
std::map<std::string, PowerRows> power_groups(const PowerRows& rows) {
  std::map<std::string, PowerRows> all;
  for (const PowerFitRow& r : rows) all[model_on_device(r)].push_back(r);
  return all;
}

double power_error(const PowerFitRow& r, const PowerParameters& p) {
  return std::fabs(elementary::log(power_share(p, r.utilization) / r.share));
}

/// Sum over groups of the mean error.
double error_of_groups(const std::map<std::string, PowerRows>& groups, const PowerParameters& p) {
  double all = 0;
  for (const auto& [name, rows] : groups) {
    double sum = 0;
    for (const PowerFitRow& r : rows) sum += power_error(r, p);
    all += sum / static_cast<double>(rows.size());
  }
  return all;
}

constexpr double power_step = 0.01;

/// Calls visit(x) for each multiple of the step within a parameter's bounds.
template <typename Visit>
void for_each_value(const ParameterCard& card, const Visit& visit) {
  const auto steps = std::lround((card.high - card.low) / power_step);
  for (long i = 0; i <= steps; ++i) visit(card.low + static_cast<double>(i) * power_step);
}

PowerRows without_model_and_device(const PowerRows& rows, const PowerFitRow& left_out) {
  PowerRows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const PowerFitRow& r) { return r.model != left_out.model && r.device != left_out.device; });
  return kept;
}

}  // namespace

PowerRows power_fit_rows(const std::vector<InferenceCase>& cases) {
  PowerRows all;
  for (const InferenceCase& c : cases) {
    if (!c.skip.empty() || c.on.hardware.watts <= 0) continue;
    for (const Figure& f : c.figures) {
      if (f.quantity != FigureKind::power) continue;
      const InferenceTimes times = estimated_times(c, inference_stack(c), inference_estimator().parameters);
      all.push_back({.family = c.head.family,
                     .model = c.head.model,
                     .device = c.on.hardware.name,
                     .utilization = times.utilization(),
                     .share = f.value / static_cast<double>(c.head.gpus) / c.on.hardware.watts});
    }
  }
  return all;
}

PowerParameters fit_power(const PowerRows& rows) {
  const std::map<std::string, PowerRows> groups = power_groups(rows);
  PowerParameters best;
  double least = std::numeric_limits<double>::infinity();
  for_each_value(power_parameter_cards[1], [&](double base) {
    for_each_value(power_parameter_cards[2], [&](double compute) {
      const PowerParameters p{.base = base, .compute = compute};
      const double error = error_of_groups(groups, p);
      if (error < least) least = error, best = p;
    });
  });
  best.idle =
      std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.share < b.share; })->share;
  return best;
}

PowerEstimate fitted_power(const PowerRows& rows) {
  PowerEstimate e{.parameters = fit_power(rows)};
  std::map<std::string, std::vector<double>> errors;
  std::set<std::string> sources;
  for (const auto& [name, group] : power_groups(rows)) {
    const PowerParameters p = fit_power(without_model_and_device(rows, group[0]));
    for (const PowerFitRow& r : group) errors[name].push_back(power_error(r, p)), sources.insert(r.family);
  }
  e.interval = interval_of(errors);
  e.interval.families = static_cast<Count>(sources.size());
  return e;
}

}  // namespace llmcalc
