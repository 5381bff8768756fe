#pragma once
/// The reference transformer's ledger, which contains its actual memory and work.

#include "model/transformer.hpp"
#include "validate/ledger.hpp"

namespace llmcalc::validate {

/// Runs the micro-batches of one optimizer step on random tokens. The peak is over all micro-batches; FLOPs and
/// operators are from the last micro-batch. The model must already be trainable.
Ledger measured_training(model::Transformer& t, std::uint64_t seed);

/// KV cache for inference under the transformer's plan; absent if the plan has no cache.
std::optional<model::Cache> cache_of(model::Transformer& t, Count tokens);

/// Runs one pass over the plan's batch. If the plan has MTP modules, they draft tokens, which are discarded.
void run_pass(model::Transformer& t, std::span<const std::int64_t> ids, Count past, model::Cache* cache,
              model::Trace* trace);

/// Runs a prefill of the plan's prompt and the decode steps: one per generated token or, with MTP modules, one per
/// token and its drafts.
Ledger measured_inference(model::Transformer& t, std::uint64_t seed);

/// Random tokens and their targets.
model::Batch random_batch(const Arch& arch, Count tokens, std::uint64_t seed);

/// The micro-batches of a plan's optimizer step.
std::vector<model::Batch> random_step(const Arch& arch, const Plan& plan, std::uint64_t seed);

}  // namespace llmcalc::validate
