#pragma once
/// 'llmcalc plan' by what is planned.

#include <optional>

#include "cli/arguments.hpp"

namespace llmcalc {

/// Options of the table that concern each.
inline constexpr Parts plan_train_parts =
    part::training | part::step | part::model_flops | part::time | part::run | part::hardware | part::styles;
inline constexpr Parts plan_serve_parts =
    part::inference | part::fit | part::serving | part::time | part::hardware | part::styles;

/// What a search says; without a report it was stopped before there was anything to say.
struct PlanAnswer {
  std::optional<Report> report{};
  bool stopped = false;  ///< before its end
};
/// The best layouts of a training run.
PlanAnswer plan_train(const Arguments& arguments);
/// The fewest GPUs and the cheapest hardware that serve a load within limits.
int plan_serve(const Arguments& arguments);

}  // namespace llmcalc
