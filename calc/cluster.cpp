#include "calc/cluster.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Whether a level joins every group of a kind. Groups lie in blocks one behind the other, in which their ranks
/// alternate: a level holds whole blocks, or a block crosses its border, and one of the groups in it does.
bool joins(const Link& level, const Layout& l, Group g) {
  const Lines all = lines(l, g);
  const Line& outer = all.outer.ranks > 1 ? all.outer : all.inner;
  const Count block = outer.ranks > 1 ? mul(outer.ranks, outer.stride) : 1;
  return level.ranks == 0 || devices(l) <= level.ranks || level.ranks % block == 0;
}

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

bool reduces(const Cluster& c) {
  return std::any_of(c.levels.begin(), c.levels.end(), [](const Link& l) { return l.reduces; });
}

bool is_inside(const Cluster& c, const Layout& l, Group g) { return !c.levels.empty() && joins(c.levels[0], l, g); }

Link group_link(const Cluster& c, const Layout& l, Group g) {
  for (const Link& level : c.levels)
    if (joins(level, l, g)) return level;
  return {};
}

}  // namespace llmcalc
