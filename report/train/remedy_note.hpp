#pragma once
/// A note about changes that make a plan fit.

#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds the smallest changes that make a plan fit, the one that costs least first; where its tensors fit and a process
/// does not, with as much room as this plan's process takes beside them. Adds no note where the plan fits.
void note_remedies(const TrainingAnswer& a, Report& report);

}  // namespace llmcalc
