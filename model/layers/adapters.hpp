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

/// All parameters, with each adapted matrix followed by its A (rank, in), initialized at random, and its B (out, rank),
/// initialized to zero so that training starts from the unchanged model. The paper's scale alpha / rank is omitted,
/// because it is a constant factor that B can absorb.
std::vector<ParameterShape> with_adapters(const std::vector<ParameterShape>& all, const Adapters& adapters);

}  // namespace llmcalc::model
