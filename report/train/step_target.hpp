#pragma once
/// The changes to a plan of training that would reach a speed, one at a time.

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The time of a step that --target asks for (as such, by tokens/s of all GPUs, MFU, or days of --tokens), whether the
/// plan reaches it, and, each with all else as it is: the least memory bandwidth, matmul peak, link and network, and
/// the fewest GPUs (replicas that share the same global batch). Times are the estimate's, under the software if there
/// is one. An MFU is of the changed peak and of all GPUs. What no change reaches is absent, with the reason beside it;
/// where only the memory is missed, no rate of the hardware is told. Precondition: the request has hardware and a
/// target for training.
Section step_target_section(const Request& r);

/// Adds that section and its line of the verdict, where the request has a target.
void add_step_target(const Request& r, Report& report);

}  // namespace llmcalc
