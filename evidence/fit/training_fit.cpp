#include "evidence/fit/training_fit.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "evidence/estimated.hpp"
#include "evidence/row_subject.hpp"
#include "evidence/training_stack.hpp"

namespace llmcalc {

namespace {

double row_weight(const TrainingRow& row, const TrainingCase& c) {
  const double quality = row.quality == "A" ? 1 : row.quality == "B" ? 0.6 : 0.1;
  // Composed from timings of layers, not measured as a whole.
  const bool composed = row.family.find("single-node") != std::string::npos && row.family.find("vTrain") == 0;
  return quality * (c.input_assumed ? 0.3 : 1) * (composed ? 0.3 : 1);
}

/// A measured step, and the software as the estimator knows it.
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

FitSet training_fit_set(const std::vector<TrainingRow>& rows, const Devices& devices) {
  FitSet set{.cards = training_parameter_cards, .loss = FitLoss::cauchy, .width = 0.05};
  const auto all = std::make_shared<std::vector<StepRow>>();
  for (const TrainingRow& row : rows) {
    TrainingCase c = training_case(row, devices);
    if (!c.skip.empty() || !c.step) continue;
    set.keys.push_back(fit_key(row.id, step_quantity));
    set.families.push_back(family_of(row));
    set.weights.push_back(row_weight(row, c));
    const TrainingStack stack = training_stack(c);
    all->push_back({std::move(c), stack});
  }
  weigh_families(set);
  set.error = [all](std::size_t i, std::span<const double> values) {
    const StepRow& row = (*all)[i];
    return std::log(estimated_training(row.c, row.stack, training_parameters(values)).estimate.total() / *row.c.step);
  };
  return set;
}

}  // namespace llmcalc
