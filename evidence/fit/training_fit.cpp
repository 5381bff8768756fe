#include "evidence/fit/training_fit.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "evidence/estimated.hpp"
#include "evidence/names/training_stack.hpp"
#include "evidence/row_subject.hpp"

namespace llmcalc {

namespace {

double row_weight(const TrainingCase& c) {
  const double quality = c.head.quality == "A" ? 1 : c.head.quality == "B" ? 0.6 : 0.1;
  // vTrain's single-node step times are composed of layer timings, not measured as a whole.
  const bool composed = c.head.family.find("single-node") != std::string::npos && c.head.family.find("vTrain") == 0;
  return quality * (c.input_assumed ? 0.3 : 1) * (composed ? 0.3 : 1);
}

/// A measured step, and its software as input to the estimator.
struct StepRow {
  TrainingCase c;
  TrainingStack stack;
};

}  // namespace

TrainingParameters training_parameters(std::span<const double> values) {
  TrainingParameters p;
  std::copy(values.begin(), values.end(), p.values().begin());
  return p;
}

FitSet training_fit_set(const std::vector<TrainingCase>& cases) {
  FitSet set{.cards = training_parameter_cards, .loss = FitLoss::cauchy, .width = 0.05};
  const auto all = std::make_shared<std::vector<StepRow>>();
  for (const TrainingCase& c : cases) {
    if (!c.skip.empty() || !c.step) continue;
    set.keys.push_back(fit_key(c.head.id, step_quantity));
    set.families.push_back(c.head.family);
    set.weights.push_back(row_weight(c));
    const TrainingStack stack = training_stack(c);
    all->push_back({c, stack});
  }
  weigh_families(set);
  set.error = [all](std::size_t i, std::span<const double> values) {
    const StepRow& row = (*all)[i];
    return std::log(estimated_training(row.c, row.stack, training_parameters(values)).estimate.total() / *row.c.step);
  };
  return set;
}

}  // namespace llmcalc
