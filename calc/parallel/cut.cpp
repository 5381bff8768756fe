#include "calc/parallel/cut.hpp"

namespace llmcalc {

bool is_cut(const Layout& layout) { return layout.tp > 1 || layout.cp > 1 || folds_experts(layout); }

OpList cut(const OpList& ops, const Layout& layout) {
  const OpList mine = split_tensor(folds_experts(layout) ? split_experts(ops, layout) : ops, layout);
  return layout.cp > 1 ? split_context(mine, layout) : mine;
}

Count own_tokens(Count tokens, const Layout& layout) {
  return ceil_div(sequence_parallel(layout) ? ceil_div(tokens, layout.tp) : tokens, layout.cp);
}

Count summed_gradients(const OpList& ops, const Layout& layout, Group group) {
  return group == Group::tensor ? summed_over_tensor_ranks(ops, layout) : 0;
}

}  // namespace llmcalc
