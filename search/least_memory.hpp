#pragma once
/// A lower bound of the memory of plans, for any partition of the layers into stages and any schedule.

#include "calc/memory.hpp"

namespace llmcalc {

/// At most the peak of the fullest device, in bytes: the mean over the ranks of their states, and of the tensors that
/// the layers save for one micro-batch. A rank holds the latter at once, since no backward of a micro-batch begins
/// before its last forward.
double least_peak(const Prices& prices, const Plan& plan, const Layout& layout);

}  // namespace llmcalc
