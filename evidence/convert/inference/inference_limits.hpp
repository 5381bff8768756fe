#pragma once
/// Limits of the engine's passes and of its memory in an inference row.

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Sets the limits, the share of the device's memory and the granted memory: stated by the row, by the launch script of
/// its benchmark, or the engine's defaults. Precondition: the case has its engine, device, layout and requests.
void use_limits(const InferenceRow& row, InferenceCase& c);

}  // namespace llmcalc
