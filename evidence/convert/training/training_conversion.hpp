#pragma once
/// Converts a training row in the old schema to inputs of the calculation.

#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

TrainingCase training_case(const TrainingRow& row, const Devices& devices);

}  // namespace llmcalc
