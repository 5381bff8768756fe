#pragma once
/// A lower bound on the memory of plans, for any partition of the layers into stages and any schedule.

#include "calc/memory.hpp"

namespace llmcalc {

/// Lower bound on the peak bytes of the fullest device: the mean over the ranks of their states and of the tensors that
/// the layers save for one micro-batch. All of these tensors are live at the same time, because no backward of a
/// micro-batch begins before its last forward.
double least_peak(const Prices& prices, const Plan& plan, const Layout& layout);

}  // namespace llmcalc
