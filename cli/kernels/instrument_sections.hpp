#pragma once
/// Report sections with the readings of a device's instruments. Their keys are part of the JSON schema.

#include "presets/hardware_file.hpp"
#include "report/report.hpp"
#include "validate/metered.hpp"

namespace llmcalc {

/// Adds executed FLOPs and bytes by phase, energy, memory by terms, the board and its libraries; notes what is missing.
void add_instruments(Report& report, const validate::Metered& m);

/// Adds the code that computed attention, by part; nothing if the backend has only one implementation.
void add_attention_cores(Report& report, const validate::CaseVerdict& v);
/// The same as a row's `attention_core`.
json::Value attention_core_json(const validate::CoreUse& u);

/// Model FLOPs utilisation of a step of `step_seconds`, by every convention. `board`: as its driver calls the device,
/// whose datasheet's peak counts; a device that no preset describes has the peak of `measured`.
Section mfu_section(const validate::Case& c, double step_seconds, const std::string& board,
                    const HardwareCard& measured);

}  // namespace llmcalc
