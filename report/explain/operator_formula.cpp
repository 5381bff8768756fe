#include "report/explain/operator_formula.hpp"

#include <fmt/format.h>

namespace llmcalc {
namespace {

std::string formula(const Lookup&, Phase) { return "bytes: (p_w + p)*tokens*width"; }
std::string formula(const Linear&, Phase) { return "2*rows*in*out"; }
std::string formula(const Norm&, Phase) { return "bytes: 2*p*rows*width"; }
std::string formula(const Attention& a, Phase phase) {
  const std::string seen = a.window > 0 ? "min(c, W)" : "c";
  return fmt::format("2*A*(d_qk + d_v)*B*{}", phase == Phase::decode ? seen : "pairs");
}
std::string formula(const LinearAttention&, Phase) { return "4*tokens*A*d_h^2"; }
std::string formula(const Pointwise& s, Phase) {
  switch (s.kind) {
    case PointwiseKind::add:
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
      return "bytes: 3*p*rows*width";
    case PointwiseKind::dropout:
      return "bytes: (2*p + 1)*rows*width";
    case PointwiseKind::combine:
      return "bytes: (1 + k)*p*rows*width";
    case PointwiseKind::activate:
    case PointwiseKind::rope:
    case PointwiseKind::route:
    case PointwiseKind::dispatch:
      break;
  }
  return "bytes: 2*p*rows*width";
}
std::string formula(const Loss&, Phase) { return "bytes: 4*rows*V"; }
std::string formula(const Collective& c, Phase) {
  const bool all_reduce = (c.forward_on ? c.forward : c.backward) == CollectiveOp::all_reduce;
  return all_reduce ? "s: 2*(T - 1)*(alpha + M/(T*beta_l))" : "s: (T - 1)*(alpha + M/(T*beta_l))";
}

}  // namespace

std::string operator_formula(const Op& op, Phase phase) {
  return std::visit([&](const auto& shape) { return formula(shape, phase); }, op.shape);
}

}  // namespace llmcalc
