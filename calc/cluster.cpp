#include "calc/cluster.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Whether a level connects every group of kind `g`. The groups of a kind form consecutive blocks of devices, and the
/// ranks of a block's groups are interleaved. Unless a level consists of whole blocks, some block crosses a boundary
/// of the level, and so does one of that block's groups.
bool joins(const Link& level, const Layout& l, Group g) {
  const Lines all = lines(l, g);
  const Line& outer = all.outer.ranks > 1 ? all.outer : all.inner;
  const Count block = outer.ranks > 1 ? mul(outer.ranks, outer.stride) : 1;
  return level.ranks == 0 || devices(l) <= level.ranks || level.ranks % block == 0;
}

/// Number of devices that one instance of a level connects, in a run of `all` devices.
Count joined_of(const Link& level, Count all) { return level.ranks == 0 ? all : std::min(level.ranks, all); }

/// The level restricted to a part of its torus, with the bandwidth of a rank's links within this part.
Link with_part(Link level, const Torus& part) {
  const double one = level.bandwidth.value / static_cast<double>(2 * level.torus.size());
  level.bandwidth = BytesPerSecond(one * rank_links(part).value());
  level.torus = part;
  return level;
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

Link joining_ranks(Link level, Count ranks) {
  if (level.torus.empty() || ranks <= 1) return level;
  return with_part(level, of_ranks(slice(level.torus, level.wraps, ranks), ranks, 1));
}

Link joining_group(Link level, const Layout& l, Group g) {
  if (level.torus.empty()) return level;
  const Count all = joined_of(level, devices(l));
  const Lines group = lines(l, g);
  const auto within = [&](const Line& line) { return std::clamp<Count>(all / line.stride, 1, line.ranks); };
  const Count inner = within(group.inner), outer = within(group.outer);
  if (mul(inner, outer) == 1) return level;
  const Count stride = outer > 1 ? ceil_div(group.outer.stride, inner) : group.inner.stride;
  return with_part(level, of_ranks(slice(level.torus, level.wraps, all), mul(inner, outer), stride));
}

bool reduces(const Cluster& c) {
  return std::any_of(c.levels.begin(), c.levels.end(), [](const Link& l) { return l.reduces; });
}

bool is_inside(const Cluster& c, const Layout& l, Group g) { return !c.levels.empty() && joins(c.levels[0], l, g); }

Link group_link(const Cluster& c, const Layout& l, Group g) {
  for (const Link& level : c.levels)
    if (joins(level, l, g)) return joining_group(level, l, g);
  return {};
}

}  // namespace llmcalc
