#include "evidence/rows/recomputed.hpp"

#include <algorithm>
#include <cmath>

namespace llmcalc {

Count recomputed_layers(const Recomputed& r, Count layers, Count chunks) {
  if (r.first > 0) return std::min(layers, r.in_chunk ? r.first : std::max<Count>(1, r.first / chunks));
  if (r.share < 1) return std::min<Count>(layers, std::llround(r.share * static_cast<double>(layers)));
  return layers / r.layer_step;
}

Recomputed recomputed_by(const Plan& plan) {
  Recomputed r;
  r.layers = plan.recompute == Recompute::full;
  if (recomputes_block(plan)) r.first = plan.recompute_layers, r.in_chunk = true;
  if (recomputes_groups(plan)) r.group = plan.recompute_layers;
  const RecomputeModules modules = selected_modules(plan);
  r.core = modules.has(RecomputeModule::core);
  r.norms = modules.has(RecomputeModule::norm);
  r.activations = modules.has(RecomputeModule::act);
  r.mlp = modules.has(RecomputeModule::mlp);
  r.up = modules.has(RecomputeModule::up);
  return r;
}

}  // namespace llmcalc
