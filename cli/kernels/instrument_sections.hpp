#pragma once
/// Report sections with the readings of a device's instruments. Their keys are part of the JSON schema.

#include "presets/hardware_file.hpp"
#include "report/report.hpp"
#include "validate/metered.hpp"

namespace llmcalc {

/// Adds executed FLOPs and bytes by phase, energy, memory by terms, the board and its libraries; notes missing ones.
void add_instruments(Report& report, const validate::Metered& m);

/// Adds the code that computed attention, by part, if the backend has several implementations.
void add_attention_cores(Report& report, const validate::CaseVerdict& v);
/// The same as a row's `attention_core`.
json::Value attention_core_json(const validate::CoreUse& u);

/// Model FLOPs utilization of a step of `step_seconds`, under each convention. `board`: the device's name from its
/// driver, which selects the datasheet with the peak; a device without a preset has the peak of `measured`.
Section mfu_section(const validate::Case& c, double step_seconds, const std::string& board,
                    const HardwareCard& measured);

}  // namespace llmcalc
