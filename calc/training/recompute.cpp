#include "calc/training/recompute.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

const Pointwise* pointwise(const Op& op) { return std::get_if<Pointwise>(&op.shape); }

bool is_core(const Op& op) {
  const Collective* c = std::get_if<Collective>(&op.shape);
  return std::holds_alternative<Attention>(op.shape) || (c && c->group == Group::context);
}

bool is_activation(const Op& op) {
  const Pointwise* p = pointwise(op);
  return p && in_mlp(op.component) && op.split == Split::width && p->kind != PointwiseKind::add;
}

/// Whether an operator is inside the MLP, which excludes its norm, its dropout and the residual addition.
bool is_inside_mlp(const Op& op) {
  const Pointwise* p = pointwise(op);
  const bool closes = p && (p->kind == PointwiseKind::dropout || op.name == "mlp.add");
  return in_mlp(op.component) && op.name.starts_with("mlp.") && !closes;
}

/// Whether an operator is part of latent attention's up-projections. Includes adapters, whose operator names begin with
/// the matrix's name.
bool is_up_projection(const Op& op) {
  constexpr std::array names{"attn.q_norm", "attn.q_up", "attn.kv_norm", "attn.kv_up", "attn.rope"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return op.name.starts_with(n); });
}

}  // namespace

bool holds(RecomputeModule m, const Op& op) {
  switch (m) {
    case RecomputeModule::core:
      return is_core(op);
    case RecomputeModule::norm:
      return op.component == Component::norm && (op.name.starts_with("attn.") || op.name.starts_with("mlp."));
    case RecomputeModule::act:
      return is_activation(op);
    case RecomputeModule::mlp:
      return is_inside_mlp(op);
    case RecomputeModule::up:
      return is_up_projection(op);
  }
  return false;
}

bool holds_any(RecomputeModules modules, const Op& op) {
  for (const auto& m : choices<RecomputeModule>)
    if (modules.has(m.value) && holds(m.value, op)) return true;
  return false;
}

bool discards_result(RecomputeModules modules, const Op& op) {
  for (const RecomputeModule m : {RecomputeModule::norm, RecomputeModule::act, RecomputeModule::up})
    if (modules.has(m) && holds(m, op)) return true;
  return false;
}

}  // namespace llmcalc
