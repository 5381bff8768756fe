#include "calc/parameters.hpp"

namespace llmcalc {
namespace {

struct Sum {
  std::array<Learned, component_count> by{};

  void add_ops(const OpList& ops, Count layers) {
    for (const Op& op : ops) by[static_cast<std::size_t>(op.component)] += layers * learned(op.shape);
  }
  Count total(Component c) const { return by[static_cast<std::size_t>(c)].total; }
};

}  // namespace

Parameters parameters(const Arch& arch) {
  const Step one{.training = true};
  Sum sum;
  sum.add_ops(embedding_ops(arch, one), 1);
  for (const LayerKind& kind : layer_kinds(arch)) sum.add_ops(block_ops(arch, kind, one), kind.count);
  sum.add_ops(head_ops(arch, one), 1);

  Learned all;
  for (const Learned& l : sum.by) all += l;
  Parameters p{.total = all.total,
               .active = all.total - all.idle,
               .non_embedding = 0,
               .embedding = sum.total(Component::embedding),
               .position = sum.total(Component::position),
               .attention = sum.total(Component::attention),
               .mlp = sum.total(Component::mlp),
               .norm = sum.total(Component::norm),
               .lm_head = sum.total(Component::lm_head),
               .matmul = all.matmul,
               .matmul_active = all.matmul - all.matmul_idle,
               .factored = all.factored};
  p.non_embedding = p.total - p.embedding - p.position - p.lm_head;
  return p;
}

Count cache_elements_per_token(const Arch& arch) {
  Count n = 0;
  for (const LayerKind& kind : layer_kinds(arch))
    for (const Op& op : block_ops(arch, kind, {}))
      if (const Attention* a = std::get_if<Attention>(&op.shape)) n = add(n, mul(kind.count, a->cached()));
  return n;
}

}  // namespace llmcalc
