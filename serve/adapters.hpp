#pragma once
/// Low-rank adapters of an engine. Each request uses one: y = x W + (x A) B with A (in, R) and B (R, out) for the
/// matrices of every block (calc/training/adapter.hpp). N adapters are in memory at the same time, each allocated for
/// rank R (vLLM's --max-loras and --max-lora-rank), in the format of activations, not of weights.
///
/// A pass of T rows multiplies each row by the A and B of one adapter. It reads every adapter that its rows use once:
/// at most min(N, T) adapters. Excludes sorting rows by adapter and loading adapters from the host.

#include "calc/cluster.hpp"
#include "calc/plan.hpp"
#include "calc/price.hpp"

namespace llmcalc {

struct ServedAdapters {
  Count resident = 0;  ///< number of adapters in memory, N; 0: no adapters
  Count rank = 0;      ///< rank of every adapter, R
  LoraTargets targets = LoraTargets::all();
};

/// Bytes of all resident adapters in all layers, on one tensor-parallel rank.
Bytes adapter_bytes(const Arch& arch, const Plan& plan, const Layout& layout, const ServedAdapters& adapters);

/// Time of the adapters' operators in a pass of `step`, at estimated rates if known, otherwise at datasheet rates.
Seconds adapter_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Step step,
                        Phase phase, const ServedAdapters& adapters);

}  // namespace llmcalc
