#include "calc/training/muon.hpp"

#include <algorithm>

namespace llmcalc {

Matrices muon_matrices(const Op& op) {
  const Linear* l = std::get_if<Linear>(&op.shape);
  if (l == nullptr || op.is_frozen() || op.borrowed || !is_inside_block(op.component)) return {};
  return {l->groups, l->in, l->out};
}

Cost newton_schulz(const Matrices& matrices, Count iterations) {
  const Count m = std::min(matrices.in, matrices.out), n = std::max(matrices.in, matrices.out);
  const Count times = mul(iterations, matrices.count);
  const double a = static_cast<double>(m) * static_cast<double>(m), x = static_cast<double>(mul(m, n));
  return {.executed = times * (flops(4, m, m, n) + flops(2, m, m, m)),
          .moved = {.activations = 2 * static_cast<double>(times) * (3 * x + 4 * a)}};
}

}  // namespace llmcalc
