#pragma once
/// Pipeline schedule in a training row: "1F1B (non-interleaved)", "Interleaved1F1B", "AFAB", "ZBV".

#include <string>

#include "calc/layout.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// Sets the schedule and the chunks of layers per rank. Without a pipeline the text is ignored. Text without a schedule
/// means 1F1B. Sets `skip` for an unknown schedule.
void use_schedule(const TrainingRow& row, Layout& split, Assumptions& assumed, std::string& skip);

}  // namespace llmcalc
