#include "evidence/inference_fit.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "evidence/inference_stack.hpp"
#include "evidence/row_subject.hpp"

namespace llmcalc {

namespace {

double figure_weight(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  if (f.repeats || !f.doubt.empty()) return 0;
  const double tier = row.tier == "A" ? 1 : row.tier == "C" ? 0.1 : 0.6;
  const bool burst = inference_class(c, f.quantity) == InferenceClass::first_token;
  return tier * (c.input_assumed ? 0.3 : 1) * (burst ? 0.1 : 1);
}

struct FigureRow {
  std::shared_ptr<const InferenceCase> c;
  InferenceStack stack;
  Figure figure;
};

/// The times of the row that was asked for last: its figures come one after another and are of one simulation.
class LastTimes {
 public:
  const InferenceTimes& of(const FigureRow& row, std::span<const double> values) {
    if (c_ == row.c && std::equal(values.begin(), values.end(), values_.begin(), values_.end())) return *times_;
    c_ = row.c;
    values_.assign(values.begin(), values.end());
    return times_.emplace(estimated_times(*row.c, row.stack, inference_parameters(values)));
  }

 private:
  std::shared_ptr<const InferenceCase> c_;
  std::vector<double> values_;
  std::optional<InferenceTimes> times_;
};

}  // namespace

InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = inference_rates(p, c.on.hardware, stack, c.plan);
  return {c, stack, cluster, request_seconds(p, stack)};
}

InferenceParameters inference_parameters(std::span<const double> values) {
  InferenceParameters p;
  std::copy(values.begin(), values.end(), p.values().begin());
  return p;
}

FitSet inference_fit_set(const std::vector<InferenceRow>& rows, const Devices& devices) {
  FitSet set{.cards = inference_parameter_cards};
  const auto all = std::make_shared<std::vector<FigureRow>>();
  for (const InferenceRow& row : rows) {
    const auto c = std::make_shared<const InferenceCase>(inference_case(row, devices));
    if (!c->skip.empty() || c->cluster().device.peak(c->plan.precision).value <= 0) continue;
    for (const Figure& f : c->figures) {
      if (!inference_class(*c, f.quantity) || f.value <= 0) continue;
      set.keys.push_back(fit_key(row.id, f.key));
      set.families.push_back(family_of(row));
      set.weights.push_back(figure_weight(row, *c, f));
      all->push_back({c, inference_stack(*c), f});
    }
  }
  weigh_families(set);
  set.error = [all](std::size_t i, std::span<const double> values) {
    thread_local LastTimes last;
    const FigureRow& row = (*all)[i];
    return std::log(*last.of(row, values).figure(row.figure) / row.figure.value);
  };
  return set;
}

}  // namespace llmcalc
