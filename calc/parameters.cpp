#include "calc/parameters.hpp"

#include "calc/price.hpp"

namespace llmcalc {
namespace {

struct Sum {
  std::array<Learned, component_count> by{};
  Count total(Component c) const { return by[static_cast<std::size_t>(c)].total; }
  Count mlp() const {
    return total(Component::mlp) + total(Component::router) + total(Component::experts) +
           total(Component::shared_experts);
  }
};

}  // namespace

Parameters parameters(const Arch& arch) {
  Sum sum;
  for_each_operator(arch, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    sum.by[static_cast<std::size_t>(row.op.component)] += row.segment.repeats * learned(row.op.shape);
  });

  Learned all;
  for (const Learned& l : sum.by) all += l;
  Parameters p{.total = all.total,
               .active = all.total - all.idle,
               .non_embedding = 0,
               .embedding = sum.total(Component::embedding),
               .position = sum.total(Component::position),
               .attention = sum.total(Component::attention),
               .mlp = sum.mlp(),
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
  for_each_operator(arch, {}, {}, {}, [&](const OperatorRow& row) {
    if (const Attention* a = std::get_if<Attention>(&row.op.shape)) n = add(n, mul(row.segment.repeats, a->cached()));
    if (const IndexScores* i = std::get_if<IndexScores>(&row.op.shape)) n = add(n, mul(row.segment.repeats, i->width));
  });
  return n;
}

}  // namespace llmcalc
