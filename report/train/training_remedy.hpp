#pragma once
/// Changes that make a training plan fit.

#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The smallest changes that make a plan fit, the cheapest first. If its tensors fit and the process does not, the
/// changes leave enough memory for this plan's process in addition to its tensors. Precondition: the plan does not
/// fit.
Finding remedy_finding(const TrainingAnswer& a);
/// The same changes as JSON rows.
json::Value remedies_json(const TrainingAnswer& a);

}  // namespace llmcalc
