#pragma once
/// A checkpoint's tensors by group, and by name where their name tells no group.

#include "presets/header/checkpoint.hpp"
#include "report/report.hpp"

namespace llmcalc {

Report checkpoint_report(const Checkpoint& c);

}  // namespace llmcalc
