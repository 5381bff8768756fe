#pragma once
/// Rows about a training process.

#include <string>

#include "ask/answer/process_estimate.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// "needs about 52.1 GiB (41.8 to 64.9 GiB)"
std::string process_text(const ProcessEstimate& p);

/// The terms of the fullest stage; empty without an estimate.
Section process_section(const TrainingAnswer& a);
/// One stage's terms as an object.
json::Value process_json(const ProcessMemory& m);

}  // namespace llmcalc
