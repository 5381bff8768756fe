#include "calc/cluster.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Devices from the first rank of a group to its last.
Count span(const Layout& l, Group g) { return add(mul(stride(l, g), ranks(l, g) - 1), 1); }

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
  const Count all = ranks(l, g), step = stride(l, g);
  for (std::size_t i = 0; i < c.levels.size(); ++i) {
    const Count joined = c.levels[i].ranks;
    const Count together = joined == 0 ? all : std::clamp<Count>(joined / step, placed, all);
    r.ranks[i] = ceil_div(together, placed);
    placed = together;
  }
  return r;
}

Link group_link(const Cluster& c, const Layout& l, Group g) { return joining_link(c, span(l, g)); }

}  // namespace llmcalc
