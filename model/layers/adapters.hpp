#pragma once
/// Low-rank adapters of frozen matrices (LoRA, arXiv:2106.09685; calc/training/adapter.hpp): y = x W' + (x A')
/// B'.

#include <vector>

#include "calc/plan.hpp"

namespace llmcalc::model {

struct ParameterShape;

/// A model's adapters; rank 0: disabled.
struct Adapters {
  Count rank = 0;
  LoraTargets targets = LoraTargets::all();
};

/// All parameters, with each adapted matrix followed by its A (rank, in), drawn at random, and its B (out, rank), zero,
/// so that training starts from the unchanged model. The paper's scale alpha / rank is omitted: it is a constant in B.
std::vector<ParameterShape> with_adapters(const std::vector<ParameterShape>& all, const Adapters& adapters);

}  // namespace llmcalc::model
