#pragma once
/// A lower bound on the memory of plans, for any partition of the layers into stages and any schedule.

#include "calc/memory.hpp"

namespace llmcalc {

/// Lower bound on the peak bytes of the fullest device, the larger of two bounds:
///   the states, plus the tensors that all layers save for one micro-batch (all live when its last forward ends),
///     averaged over the ranks, plus the bytes that a rank's last layer needs while it runs
///   the peak of a last rank that has only one layer and the head
/// `process`: bytes that the process uses in addition to tensors.
double least_peak(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process = {});

}  // namespace llmcalc
