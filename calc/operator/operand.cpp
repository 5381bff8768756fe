#include "calc/operator/operand.hpp"

#include "calc/elementary.hpp"

namespace llmcalc {
double operand_read(DType t, Count rows, Count depth) {
  if (t.plain()) return real(rows) * real(depth) * real(t.format().element_bits) / 8;
  return real(operand_bytes(t, rows, depth).value);
}
double matrix_read(const Linear& s, const Stored& w) { return real(tensor_bytes(w.factor, s.out, s.in).value); }
double transposed_read(const Linear& s, const Stored& w) {
  return w.factor == w.matrix ? matrix_read(s, w) : real(tensor_bytes(w.factor, s.in, s.out).value);
}

double groups_touched(Count groups, Count top_k, Count tokens) {
  return real(groups) * -elementary::expm1(real(tokens) * elementary::log1p(-real(top_k) / real(groups)));
}

double groups_touched(const Linear& s) {
  if (s.top_k == 0) return real(s.groups);
  const Count rows = mul(s.rows, s.expert_ranks);
  return groups_touched(mul(s.groups, s.expert_ranks), s.top_k, rows / s.top_k) / real(s.expert_ranks);
}

}  // namespace llmcalc
