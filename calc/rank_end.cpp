#include "calc/rank_end.hpp"

#include "calc/assemble.hpp"

namespace llmcalc {

Seconds RankEnd::over(Group g, CollectiveOp op, Bytes bytes) const {
  const double link = rates_.link;
  return exchange_time({.group = g, .op = op, .messages = 1, .bytes = bytes}, layout_, cluster_, link).at(link);
}

Spent RankEnd::sums(const HeldRows& rows) const {
  Spent s;
  Count shared = rows.embedding ? prices_.embedding().summed : 0;
  for (std::size_t k = 0; k < prices_.kinds.size; ++k)
    shared = llmcalc::add(shared, mul(rows.layers[k], prices_.layer(k).summed));
  if (rows.head) shared = llmcalc::add(shared, prices_.head().summed);
  if (shared > 0)
    s[Part::tp] = (1 - hidden_inside(plan_)) * over(Group::tensor, CollectiveOp::all_reduce, gradients(shared));
  const Count tied = prices_.head().tied.trained();
  if (tied > 0 && rows.embedding != rows.head) s[Part::pp] = over(Group::pipeline, CollectiveOp::p2p, gradients(tied));
  if (directions(pipeline_) == 2) s[Part::dp] = over(Group::pipeline, CollectiveOp::p2p, updated(rows).gradients);
  return s;
}

UpdateSeconds RankEnd::updating(const HeldRows& rows) const { return update_seconds(updated(rows), plan_, rates_); }

Spent RankEnd::update(const HeldRows& rows) const {
  Spent s;
  s[Part::optimizer] = s.memory = updating(rows).device;
  return s;
}

}  // namespace llmcalc
