#pragma once
/// Report sections with a device's sensor and counter readings. Their keys are part of the JSON schema.

#include "presets/hardware_file.hpp"
#include "report/report.hpp"
#include "validate/metered.hpp"

namespace llmcalc {

/// Adds executed FLOPs and bytes by phase, energy, memory by term, the board and its libraries; notes missing readings.
void add_instruments(Report& report, const validate::Metered& m);

/// If the backend has several attention implementations, adds the one that ran in each part.
void add_attention_cores(Report& report, const validate::CaseVerdict& v);
/// The same data as a row's `attention_core` in JSON.
json::Value attention_core_json(const validate::CoreUse& u);

/// Model FLOPs utilization of a step of `step_seconds`, under each convention. `board`: device name from the driver,
/// which selects the datasheet for the peak; a device without a preset uses the peak of `measured`.
Section mfu_section(const validate::Case& c, double step_seconds, const std::string& board,
                    const HardwareCard& measured);

}  // namespace llmcalc
