#pragma once
/// Converts an inference row in the old schema to inputs of the calculation.

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

InferenceCase inference_case(const InferenceRow& row, const Devices& devices);

}  // namespace llmcalc
