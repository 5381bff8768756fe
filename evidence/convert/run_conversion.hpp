#pragma once
/// Converts a recorded run in the old schema to inputs of the calculation.

#include "evidence/convert/recorded_run.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/run_case.hpp"

namespace llmcalc {

RunCase run_case(const RecordedRun& run, const Devices& devices);

}  // namespace llmcalc
