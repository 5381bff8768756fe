#pragma once
/// A row of inference in the old schema as the engine's inputs.

#include "evidence/convert/inference_row.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

InferenceCase inference_case(const InferenceRow& row, const Devices& devices);

}  // namespace llmcalc
