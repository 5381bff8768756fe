#pragma once
/// Memory of a training process, as report rows.

#include "ask/answer/process_estimate.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The terms of the fullest stage; empty without an estimate.
Section process_section(const TrainingAnswer& a);
/// One stage's terms as an object.
json::Value process_json(const ProcessMemory& m);

}  // namespace llmcalc
