#pragma once
/// The engine's prediction as a ledger.

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "validate/ledger.hpp"

namespace llmcalc::validate {

/// One micro-batch of training, forward and backward, with the memory in use during a step.
Ledger predicted_training(const Arch& arch, const Plan& plan);

/// A prefill of the prompt and one decode step per generated token (without a cache, a full pass per token; with MTP
/// modules, passes that verify drafts, all of which are accepted). `forward` contains the FLOPs of the prefill, and
/// `backward` the FLOPs of the last step.
Ledger predicted_inference(const Arch& arch, const Plan& plan);

}  // namespace llmcalc::validate
