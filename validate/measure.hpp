#pragma once
/// The reference transformer's account: what it really held and did.

#include "model/transformer.hpp"
#include "validate/ledger.hpp"

namespace llmcalc::validate {

/// One optimizer step's micro-batches on random tokens: bytes are at the worst moment of them all, FLOPs and operators
/// are the last one's. The model must be trainable already.
Ledger measured_training(model::Transformer& t, std::uint64_t seed);

/// The cache of an inference by the transformer's plan; none where the plan goes without.
std::optional<model::Cache> cache_of(model::Transformer& t, Count tokens);

/// A pass of the plan's batch, in which its modules draft if it has any: what they draft is not read.
void run_pass(model::Transformer& t, std::span<const std::int64_t> ids, Count past, model::Cache* cache,
              model::Trace* trace);

/// A prefill of the plan's prompt and a decode step for each token to generate; with modules for as many as they draft
/// and one.
Ledger measured_inference(model::Transformer& t, std::uint64_t seed);

/// Random tokens, and those that should follow them.
model::Batch random_batch(const Arch& arch, Count tokens, std::uint64_t seed);

/// The micro-batches of a plan's optimizer step.
std::vector<model::Batch> random_step(const Arch& arch, const Plan& plan, std::uint64_t seed);

}  // namespace llmcalc::validate
