#include "calc/parallel/cut.hpp"

namespace llmcalc {

bool is_cut(const Layout& layout) { return layout.tp > 1; }

OpList cut(const OpList& ops, const Layout& layout) { return split_tensor(ops, layout); }

Count own_tokens(Count tokens, const Layout& layout) {
  return sequence_parallel(layout) ? ceil_div(tokens, layout.tp) : tokens;
}

Count summed_gradients(const OpList& ops, const Layout& layout, Group group) {
  return group == Group::tensor ? summed_over_tensor_ranks(ops, layout) : 0;
}

}  // namespace llmcalc
