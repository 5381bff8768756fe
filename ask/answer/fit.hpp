#pragma once
/// Whether a plan fits into device and host memory, with a probability.
///
/// A process is estimated with a 90 % interval (process_estimate.hpp, serving/engine_capacity.hpp), which is
/// interpreted as a log-normal distribution: for estimate n, interval n/f to n f and memory C, P(fits) = Phi(1.645
/// ln(C/n) / ln f). Tensors are exact: if they exceed the memory, P = 0. Without a process estimate only tensors
/// count: P is 0 or 1.

#include "ask/answer/fit_verdict.hpp"
#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"

namespace llmcalc {

/// Precondition of both functions: the request has hardware.
Fit fit_of(const TrainingAnswer& a);
Fit fit_of(const InferenceAnswer& a);

}  // namespace llmcalc
