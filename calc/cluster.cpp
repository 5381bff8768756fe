#include "calc/cluster.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Ranks of a line among `devices` neighbouring devices.
Count ranks_within(const Line& l, Count devices) { return std::clamp<Count>(devices / l.stride, 1, l.ranks); }

}  // namespace

Cluster cluster(const Device& device, const Link& link) {
  Cluster c;
  c.device = device;
  c.levels.push(link);
  return c;
}

Link joining_link(const Cluster& c, Count span) {
  for (const Link& level : c.levels)
    if (span <= level.ranks || level.ranks == 0) return level;
  return {};
}

Route route(const Cluster& c, const Layout& l, Group g) {
  Route r;
  Count placed = 1;
  const Lines group = lines(l, g);
  for (std::size_t i = 0; i < c.levels.size(); ++i) {
    const Count joined = c.levels[i].ranks;
    const Count within = mul(ranks_within(group.inner, joined), ranks_within(group.outer, joined));
    const Count together = joined == 0 ? group.ranks() : std::max(placed, within);
    r.ranks[i] = ceil_div(together, placed);
    placed = together;
  }
  return r;
}

bool reduces(const Cluster& c) {
  return std::any_of(c.levels.begin(), c.levels.end(), [](const Link& l) { return l.reduces; });
}

bool holds_choices(const Cluster& c, const Layout& l, const Moe& moe) {
  if (l.expert_nodes == 0 || moe.experts == 0) return true;
  const Count nodes = ceil_div(ranks(l, Group::expert), route(c, l, Group::expert).ranks[0]);
  return mul(std::min(l.expert_nodes, nodes), moe.experts) >= mul(moe.top_k, nodes);
}

bool is_inside(const Cluster& c, const Layout& l, Group g) {
  return !c.levels.empty() && (c.levels[0].ranks == 0 || span(l, g) <= c.levels[0].ranks);
}

Link group_link(const Cluster& c, const Layout& l, Group g) { return joining_link(c, span(l, g)); }

}  // namespace llmcalc
