#pragma once
/// Saved tensors and stalls of a pipeline, as formulas.

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// Formulas of step.breakdown_s.dp, .pp and .imbalance.
Formula data_parallel_waits(const Setting& s);
Formula stage_messages(const Setting& s);
Formula waiting_for_slowest(const Setting& s);

/// Formula of memory.activations_bytes for a stage: micro-batches in flight and bytes per micro-batch, for each
/// chunk.
Formula activations_in_flight(const Setting& s);

}  // namespace llmcalc::explain
