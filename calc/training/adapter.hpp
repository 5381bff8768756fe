#pragma once
/// Low-rank adapters (LoRA, arXiv:2106.09685): y = x W + (x A) B with A (in, rank) and B (rank, out). Only A and B
/// are trained; all other weights are frozen. QLoRA (arXiv:2305.14314) stores W in 4 bits.

#include <optional>
#include <string_view>

#include "calc/plan.hpp"

namespace llmcalc {

/// Names of an adapter's operators.
struct AdapterNames {
  std::string_view base, down, up, sum;
  LoraTarget target;
};

/// The adapter of a block's matrix, by operator name; absent if the matrix is not a target. Routers, gates of shared
/// experts, the token embedding and the head never have one.
std::optional<AdapterNames> adapter_names(LoraTargets targets, std::string_view base);

}  // namespace llmcalc
