#pragma once
/// A checkpoint's tensors by group, and by name if the name does not identify the group.

#include "presets/header/checkpoint.hpp"
#include "report/report.hpp"

namespace llmcalc {

Report checkpoint_report(const Checkpoint& c);

}  // namespace llmcalc
