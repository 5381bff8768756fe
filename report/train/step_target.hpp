#pragma once
/// Changes to a training plan that would reach a target speed, one at a time.

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The step time of --target (specified as a time, as tokens/s of all GPUs, as an MFU, or as days for --tokens),
/// whether the plan meets it, and single changes that do: the lowest memory bandwidth, matmul peak, link and network
/// bandwidth, and the fewest GPUs (replicas that share the same global batch). Times are estimates, for the request's
/// software if it has one. An MFU refers to the changed peak and to all GPUs. If a change has no solution, the section
/// gives the reason instead; if only memory is insufficient, it omits hardware rates. Precondition: the request has
/// hardware and a target for training.
Section step_target_section(const Request& r);

/// Adds the target section and its line in the verdict, if the request has a target.
void add_step_target(const Request& r, Report& report);

}  // namespace llmcalc
