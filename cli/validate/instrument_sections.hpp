#pragma once
/// What a device's instruments said, as parts of a report. Keys are those of the JSON schema and stay.

#include "presets/hardware_file.hpp"
#include "report/report.hpp"
#include "validate/metered.hpp"

namespace llmcalc {

/// Executed FLOPs and bytes by phase, energy, memory by terms, the board and its libraries; a note for what is missing.
void add_instruments(Report& report, const validate::Metered& m);

/// The code that computed attention, by part; nothing where a backend has but one.
void add_attention_cores(Report& report, const validate::Verdict& v);

/// Model FLOPs utilisation of a step of so many seconds, by every convention. `board`: as its driver calls the device,
/// whose datasheet's peak counts; a device that no preset describes has the peak of `measured`.
Section mfu_section(const validate::Case& c, double step_seconds, const std::string& board,
                    const HardwareCard& measured);

}  // namespace llmcalc
