#pragma once
/// Low-rank adapters of an engine, of which each request chooses one: y = x W + (x A) B with A (in, R) and B (R, out)
/// beside the matrices of every block (calc/training/adapter.hpp), N of them in memory at once, each with room for rank
/// R (vLLM's
/// --max-loras and --max-lora-rank). They are in the format of activations, whatever the weights' is.
///
/// A pass of T rows multiplies each row with one adapter's A and B, and reads the adapters that its rows have, at most
/// min(N, T), once each. Left out: that rows are sorted by their adapter; adapters that come from the host first.

#include "calc/cluster.hpp"
#include "calc/plan.hpp"
#include "calc/price.hpp"

namespace llmcalc {

struct ServedAdapters {
  Count resident = 0;  ///< N; 0: none
  Count rank = 0;      ///< R
  LoraTargets targets = LoraTargets::all();
};

/// Bytes of all resident adapters on one tensor-parallel rank, all layers.
Bytes adapter_bytes(const Arch& arch, const Plan& plan, const Layout& layout, const ServedAdapters& adapters);

/// Seconds of the adapters' operators in a pass of `step`, at the estimated rates, or at the datasheet's where there
/// are none.
Seconds adapter_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Step step,
                        Phase phase, const ServedAdapters& adapters);

}  // namespace llmcalc
