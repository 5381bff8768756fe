#pragma once
/// A checkpoint's tensors by group, or by name if the name identifies no group.

#include "presets/header/checkpoint.hpp"
#include "report/report.hpp"

namespace llmcalc {

Report checkpoint_report(const Checkpoint& c);

}  // namespace llmcalc
