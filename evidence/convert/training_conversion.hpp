#pragma once
/// A row of training in the old schema as the engine's inputs.

#include "evidence/convert/training_row.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

TrainingCase training_case(const TrainingRow& row, const Devices& devices);

}  // namespace llmcalc
