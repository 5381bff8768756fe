#include "calc/parameters.hpp"

#include <algorithm>

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

/// Parameters of the model or, if `modules`, of its MTP modules.
Parameters parameters_by_part(const Arch& arch, bool modules) {
  Sum sum;
  Count one = 0;  // number of parameters of one expert from every layer
  const Step step{.training = true, .mtp = modules ? arch.mtp.modules : 0};
  for_each_operator(arch, {}, {}, step, [&](const OperatorRow& row) {
    if (row.segment.mtp != modules) return;
    const Learned l = row.segment.repeats * learned(row.op);
    sum.by[static_cast<std::size_t>(row.op.component)] += l;
    if (const Linear* e = std::get_if<Linear>(&row.op.shape); e != nullptr && e->top_k > 0) one += l.total / e->groups;
  });

  Learned all;
  for (const Learned& l : sum.by) all += l;
  const Moe& m = arch.moe;
  const Count mean = all.total - all.idle, least = std::max(Count{0}, m.top_k - m.zero_experts);
  Parameters p{.total = all.total,
               .active = add(mean, mul(m.top_k - m.visited(), one)),
               .active_mean = mean,
               .active_least = mean - mul(m.visited() - least, one),
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

}  // namespace

Parameters parameters(const Arch& arch) { return parameters_by_part(arch, false); }

Parameters mtp_parameters(const Arch& arch) { return parameters_by_part(arch, true); }

Count cache_elements_per_token(const Arch& arch, Count modules) {
  Count n = 0;
  for_each_operator(arch, {}, {}, {.mtp = modules}, [&](const OperatorRow& row) {
    if (const Attention* a = std::get_if<Attention>(&row.op.shape)) n = add(n, mul(row.segment.repeats, a->cached()));
    if (const IndexScores* i = std::get_if<IndexScores>(&row.op.shape); i != nullptr && i->pooled == 0)
      n = add(n, mul(row.segment.repeats, i->width));
    if (const Pool* p = std::get_if<Pool>(&row.op.shape)) n = add(n, mul(row.segment.repeats, p->width) / p->ratio);
  });
  return n;
}

}  // namespace llmcalc
