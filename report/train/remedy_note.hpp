#pragma once
/// A note about changes that make a plan fit.

#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds the smallest changes that make a plan fit, the cheapest first. If its tensors fit and the process does not, the
/// changes leave as much memory as this plan's process needs beyond its tensors. Adds no note if the plan fits.
void note_remedies(const TrainingAnswer& a, Report& report);

}  // namespace llmcalc
