#pragma once
/// The devices of an engine that runs in pipeline stages: layers, memory and time of each.

#include "ask/answer/inference.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds a finding per device, the rows under "stages" and a note on the split. `timed`: whether to include the time of
/// a decode step. Does nothing for an engine without stages.
void add_engine_stages(const InferenceAnswer& a, bool timed, Report& report);

/// The device that a memory size refers to: "per GPU"; "on RTX 3060" for the fullest of several devices.
std::string memory_place(const InferenceAnswer& a);

}  // namespace llmcalc
