#include "calc/links/route.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace llmcalc {
namespace {

/// Merges two lines into one if they are contiguous.
Lines joined_lines(const Lines& g) {
  if (g.inner.ranks == 1) return {g.outer, {}};
  const bool follows = g.outer.stride == mul(g.inner.ranks, g.inner.stride);
  return follows ? Lines{{g.ranks(), g.inner.stride}, {}} : g;
}

/// Whether every node of `devices` devices contains an equal part of each line shaped like `l`.
bool is_even(const Line& l, Count devices) {
  const Count block = mul(l.ranks, l.stride);
  const bool shared_out = block % devices == 0 && devices % l.stride == 0;
  return l.ranks == 1 || l.stride >= devices || devices % block == 0 || shared_out;
}

/// A group, and the device of its first rank.
struct Placed {
  Lines lines;
  Count base = 0;
  Count last() const {
    return base + lines.inner.stride * (lines.inner.ranks - 1) + lines.outer.stride * (lines.outer.ranks - 1);
  }
};

/// Number of ranks on devices before `end`, for a line whose first rank is on device `first`.
Count ranks_before(const Line& l, Count first, Count end) {
  return end <= first ? 0 : std::min(l.ranks, ceil_div(end - first, l.stride));
}

/// Number of ranks of a group on devices [begin, end).
Count held(const Placed& g, Count begin, Count end) {
  Count n = 0, first = g.base;
  for (Count j = 0; j < g.lines.outer.ranks && first < end; ++j, first += g.lines.outer.stride)
    n += ranks_before(g.lines.inner, first, end) - ranks_before(g.lines.inner, first, begin);
  return n;
}

/// Whether `a` is slower than `b`.
bool is_worse(const Meeting& a, const Meeting& b) {
  if ((a.parts > 1) != (b.parts > 1)) return a.parts > 1;
  return a.fewest != b.fewest ? a.fewest < b.fewest : a.parts > b.parts;
}
bool is_worse(const Route& a, const Route& b) {
  for (std::size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return is_worse(a[i], b[i]);
  return false;
}

/// The parts of a group's ranks on devices [begin, end), where a part is the ranks within one unit of `size` devices.
Meeting parts_between(const Placed& g, Count size, Count begin, Count end) {
  if (const Count n = held(g, begin, end); size == 1) return {n, 1, n};
  Meeting m{0, g.lines.ranks(), 0};
  for (Count at = std::max(begin, g.base / size * size); at < end && at <= g.last(); at += size) {
    const Count n = held(g, at, std::min(end, at + size));
    if (n == 0) continue;
    m = {m.parts + 1, std::min(m.fewest, n), m.most + n};
  }
  return m;
}

/// The parts of a group that the slowest instance of a level connects. An instance connects `joined` devices; a part
/// consists of the ranks on `size` devices.
Meeting meet(const Placed& g, Count size, Count joined) {
  std::optional<Meeting> worst;
  for (Count begin = g.base / joined * joined; begin <= g.last(); begin += joined)
    if (const Meeting m = parts_between(g, size, begin, begin + joined); m.most > 0 && (!worst || is_worse(m, *worst)))
      worst = m;
  return *worst;
}

/// All groups of a kind in a run.
class Groups {
 public:
  Groups(const Cluster& c, const Layout& l, Group g) : lines_(joined_lines(lines(l, g))), devices_(devices(l)) {
    for (const Link& level : c.levels) joined_.push(level.ranks == 0 ? devices_ : std::min(level.ranks, devices_));
  }
  Route route() const { return all_even() ? even() : slowest(); }

 private:
  bool all_even() const {
    return std::all_of(joined_.begin(), joined_.end(), [&](Count n) {
      return n == devices_ || (is_even(lines_.inner, n) && is_even(lines_.outer, n));
    });
  }
  Route even() const {
    Route r;
    Count placed = 1;
    for (std::size_t i = 0; i < joined_.size(); ++i) {
      const auto within = [&](const Line& l) { return std::clamp<Count>(joined_[i] / l.stride, 1, l.ranks); };
      const Count together = joined_[i] == devices_ ? lines_.ranks() : mul(within(lines_.inner), within(lines_.outer));
      r[i] = {ceil_div(together, placed), placed, together};
      placed = together;
    }
    return r;
  }

  /// The number of devices that the largest level connects, among the levels that do not connect all devices.
  Count node() const {
    Count largest = 1;
    for (const Count n : joined_)
      if (n < devices_) largest = std::max(largest, n);
    return largest;
  }

  /// The placement of a line's ranks in nodes repeats after a period of node() / gcd(node(), stride) ranks. If the
  /// outer line has a single rank, a long inner line is shortened by whole periods to at least two of them, and the
  /// nodes of the omitted part are added on the level that connects all devices.
  Route slowest() const {
    const Count stride = lines_.inner.stride, period = node() / std::gcd(node(), stride);
    const bool one_line = lines_.outer.ranks == 1;
    const Count left_out = one_line ? std::max<Count>(0, lines_.inner.ranks / period - 2) * period : 0;
    Lines shorter = lines_;
    shorter.inner.ranks -= left_out;
    Route r = slowest_of(shorter);
    const auto all = std::find(joined_.begin(), joined_.end(), devices_);
    if (left_out == 0 || all == joined_.end()) return r;
    Meeting& top = r[static_cast<std::size_t>(all - joined_.begin())];
    top.parts += left_out * stride / node();
    top.most += left_out;
    return r;
  }

  /// Number of interleaved groups to check. Groups interleaved on neighboring devices have the same placement if no
  /// node boundary separates neighbors, so one group suffices; otherwise, every group is checked.
  Count differing() const {
    const Count stride = lines_.inner.stride;
    const auto whole = [&](Count n) { return n == devices_ || n % stride == 0 || stride % n == 0; };
    return std::all_of(joined_.begin(), joined_.end(), whole) ? 1 : stride;
  }

  /// The route of the slowest group. Groups that begin at the same position in a node have the same placement, so one
  /// group per position suffices.
  Route slowest_of(const Lines& saved) const {
    const Count block = mul(lines_.inner.ranks, lines_.inner.stride), n = node();
    const Count all = lines_.outer.ranks == 1 ? block : mul(lines_.outer.ranks, lines_.outer.stride);
    const Count between = lines_.outer.ranks == 1 ? block : lines_.outer.stride;
    std::vector<bool> seen(static_cast<std::size_t>(n));
    std::optional<Route> worst;
    for (Count group = 0; group < std::min(devices_ / all, n / std::gcd(n, all)) * all; group += all)
      for (Count line = 0; line < between; line += block)
        for (Count base = group + line; base < group + line + differing(); ++base) {
          if (seen[static_cast<std::size_t>(base % n)]) continue;
          seen[static_cast<std::size_t>(base % n)] = true;
          if (const Route r = of({saved, base}); !worst || is_worse(r, *worst)) worst = r;
        }
    return *worst;
  }
  Route of(const Placed& g) const {
    Route r;
    Count size = 1;
    for (std::size_t i = 0; i < joined_.size(); size = joined_[i++])
      r[i] = meet(g, size, joined_[i] == devices_ ? std::max(devices_, g.last() + 1) : joined_[i]);
    return r;
  }

  Lines lines_;
  Count devices_;
  InplaceVector<Count, 4> joined_;
};

}  // namespace

/// Takes a fast path for groups inside a node, which a search requests most often.
Route route(const Cluster& c, const Layout& l, Group g) {
  if (!is_inside(c, l, g)) return Groups(c, l, g).route();
  const Count n = ranks(l, g);
  Route r;
  for (std::size_t i = 0; i < c.levels.size(); ++i) r[i] = i == 0 ? Meeting{n, 1, n} : Meeting{1, n, n};
  return r;
}

Count nodes(const Route& r) {
  Count n = 1;
  for (std::size_t i = 1; i < r.size(); ++i) n = mul(n, r[i].parts);
  return n;
}

bool holds_choices(const Cluster& c, const Layout& l, const Moe& moe) {
  if (l.expert_nodes == 0 || moe.experts == 0) return true;
  const Count n = nodes(route(c, l, Group::expert));
  return mul(std::min(l.expert_nodes, n), moe.experts) >= mul(moe.top_k, n);
}

Count outermost_level(const Cluster& c, const Layout& l, Group g) {
  const Route r = route(c, l, g);
  Count level = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    if (r[i].parts > 1) level = static_cast<Count>(i);
  return level;
}

}  // namespace llmcalc
