#include "calc/step/rank_end.hpp"

#include <algorithm>

#include "calc/step/assemble.hpp"

namespace llmcalc {

Seconds RankEnd::over(Group g, CollectiveOp op, Bytes bytes) const {
  const CollectiveCall e{.group = g, .op = op, .messages = 1, .bytes = bytes};
  return communication_time(e, layout_, cluster_, rates_.links).total();
}

Spent RankEnd::sums(const HeldRows& rows) const {
  Spent s;
  Count shared = rows.embedding ? prices_.embedding().summed : 0;
  for (std::size_t k = 0; k < prices_.kinds.size(); ++k)
    shared = llmcalc::add(shared, mul(rows.layers[k], prices_.layer(k).summed));
  if (rows.head) {
    shared = llmcalc::add(shared, prices_.head().summed);
    for (const LayerPrice& part : prices_.mtp()) shared = llmcalc::add(shared, mul(part.layers, part.summed));
  }
  if (shared > 0)
    s[Part::tp] = (1 - rates_.hidden_tensor) * over(Group::tensor, CollectiveOp::all_reduce, gradients(shared));
  const Count tied = prices_.head().tied.trained();
  if (tied > 0 && rows.embedding != rows.head) s[Part::pp] = over(Group::pipeline, CollectiveOp::p2p, gradients(tied));
  if (directions(pipeline_) == 2)
    s[Part::dp] = over(Group::pipeline, CollectiveOp::p2p, summed_gradients(updated(rows), plan_));
  return s;
}

UpdateSeconds RankEnd::updating(const HeldRows& rows) const {
  UpdateSeconds s = update_seconds(updated(rows), plan_, rates_);
  s.device = update(rows).total();
  return s;
}

Spent RankEnd::update(const HeldRows& rows) const {
  Spent s;
  s[Part::optimizer] = s.memory = update_seconds(updated(rows), plan_, rates_).device;
  s[Part::host] = rates_.software.step;
  if (traits(plan_.optimizer).orthogonalizes) orthogonalize(rows, s);
  return s;
}

void RankEnd::orthogonalize(const HeldRows& rows, Spent& s) const {
  Orthogonalizing own, experts;
  for (std::size_t k = 0; k < prices_.kinds.size(); ++k) {
    if (rows.layers[k] == 0) continue;
    own += rows.layers[k] * prices_.layer(k).muon;
    experts += rows.layers[k] * prices_.layer(k).muon_experts;
  }
  for (const LayerPrice& part : prices_.mtp()) {
    if (!rows.head) break;
    own += part.layers * part.muon;
    experts += part.layers * part.muon_experts;
  }
  const HeldSums sums = held_sums(prices_, rows);
  const auto matrices = [](const Learned& l) { return l.trained() - l.adamw; };
  orthogonalize(own, matrices(sums.all - sums.experts), ParameterClass::dense, s);
  orthogonalize(experts, matrices(sums.experts), ParameterClass::experts, s);
}

void RankEnd::orthogonalize(const Orthogonalizing& all, Count matrices, ParameterClass c, Spent& s) const {
  if (matrices == 0) return;
  const StateGroups of = state_groups(c);
  const Orthogonalizing::Clocked& t = full_ ? all.bound : all.estimate;
  const Count sharing = layout_.zero == Zero::none ? 1 : ranks(layout_, of.shard);
  const double share = std::max(1 / static_cast<double>(sharing), t.longest / t.all.total());
  s.compute += share * t.all.compute;
  s.memory += share * t.all.memory;
  s[Part::optimizer] += share * t.all.total();
  const auto gather = [&](Group g, Count numbers) {
    if (ranks(layout_, g) > 1 && numbers > 0)
      s[part_of(g)] += (1 - rates_.hidden(g)) * over(g, CollectiveOp::all_gather, bytes_of(dtypes::bf16, numbers));
  };
  if (sharing > 1) gather(of.shard, matrices);
  gather(of.tensor, ceil_div(all.cut, sharing));
}

}  // namespace llmcalc
