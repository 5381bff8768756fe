#pragma once
/// A lower bound on the memory of plans, for any partition of the layers into stages and any schedule.

#include "calc/memory.hpp"

namespace llmcalc {

/// Lower bound on the peak bytes of the fullest device, the larger of two bounds:
///   the mean over the ranks of their states and of the tensors that the layers save for one micro-batch, all of which
///     are live when its last forward ends, plus the bytes needed by a rank's last layer while it runs
///   the peak of a last rank with only one layer
/// `process`: bytes that the process uses in addition to tensors.
double least_peak(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process = {});

}  // namespace llmcalc
