#pragma once
/// The schedule of a pipeline that a row of training names: "1F1B (non-interleaved)", "Interleaved1F1B", "AFAB", "ZBV".

#include <string>

#include "calc/layout.hpp"
#include "evidence/convert/training_layout.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// Schedule and chunks of layers per rank. Without a pipeline no text matters. A text that names no schedule means
/// 1F1B; not empty `skip`: it names one that is not known.
void use_schedule(const TrainingRow& row, Layout& split, Assumptions& assumed, std::string& skip);

}  // namespace llmcalc
