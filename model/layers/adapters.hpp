#pragma once
/// Low-rank adapters beside frozen matrices (LoRA, arXiv:2106.09685; calc/training/adapter.hpp): y = x W' + (x A') B'.

#include <vector>

#include "calc/plan.hpp"

namespace llmcalc::model {

struct ParameterShape;

/// The adapters of a model; rank 0: it has none.
struct Adapters {
  Count rank = 0;
  LoraTargets targets = LoraTargets::all();
};

/// The parameters, behind each adapted matrix its A (rank, in), drawn, and B (out, rank), zero, so that training begins
/// with the model as it is. The scale alpha / rank of the paper is left out: it is a constant in B.
std::vector<ParameterShape> with_adapters(const std::vector<ParameterShape>& all, const Adapters& adapters);

}  // namespace llmcalc::model
