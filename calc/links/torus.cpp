#include "calc/links/torus.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>

namespace llmcalc {
namespace {

using Sides = std::array<Count, 3>;

Count devices_of(const Sides& s) { return mul(s[0], s[1], s[2]); }

Sides sides_of(const Torus& t) {
  Sides s{1, 1, 1};
  for (std::size_t i = 0; i < t.size(); ++i) s[i] = t[i].ranks;
  return s;
}

/// The best block of at least n devices that is no larger than `most`: the one with the fewest devices and, on ties,
/// the smallest rank(sides). Absent if there is no such block.
template <typename Rank>
std::optional<Sides> best_block(const Sides& most, Count n, const Rank& rank) {
  std::optional<Sides> best;
  const auto key = [&](const Sides& s) { return std::tuple(devices_of(s), rank(s)); };
  for (Count a = 1; a <= std::min(most[0], n); ++a)
    for (Count b = 1; b <= std::min(most[1], ceil_div(n, a)); ++b) {
      const Sides s{a, b, ceil_div(n, mul(a, b))};
      if (s[2] <= most[2] && (!best || key(s) < key(*best))) best = s;
    }
  return best;
}

Torus torus_of(const std::array<TorusAxis, 3>& axes) {
  Torus t;
  for (const TorusAxis& a : axes)
    if (a.ranks > 1) t.push(a);
  return t;
}

/// Axes of a block of `ranks` ranks, with one rank on every `spacing` devices along each axis.
std::array<TorusAxis, 3> axes_in(const Torus& run, const Sides& ranks, const Sides& spacing) {
  std::array<TorusAxis, 3> axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool whole = i < run.size() && run[i].closed && mul(ranks[i], spacing[i]) == run[i].ranks;
    axes[i] = {ranks[i], spacing[i], whole};
  }
  return axes;
}

/// Number of links of a rank along an axis, before sharing with interleaved groups.
Count links(const TorusAxis& a) { return a.closed ? 2 : 1; }
Count steps(const TorusAxis& a) { return a.closed ? a.ranks / 2 : a.ranks - 1; }

Ratio in_lowest_terms(Count numerator, Count denominator) {
  const Count g = std::gcd(numerator, denominator);
  return {numerator / g, denominator / g};
}

/// The block of n ranks with the fewest devices. Ties are broken by whole rings, then by the most links per rank, the
/// most rings and the fewest steps.
std::optional<Sides> block_of(const Torus& run, Count n, const Sides& spacing) {
  Sides most = sides_of(run);
  for (std::size_t i = 0; i < most.size(); ++i) most[i] /= spacing[i];
  return best_block(most, n, [&](const Sides& s) {
    const Torus t = torus_of(axes_in(run, s, spacing));
    const auto lines = std::count_if(t.begin(), t.end(), [](const TorusAxis& a) { return !a.closed; });
    return std::tuple(lines > 0, -rank_links(t).value(), lines, farthest(t));
  });
}

}  // namespace

Torus whole_torus(const InplaceVector<Count, 3>& dimensions) {
  Torus t;
  for (const Count n : dimensions) t.push({n, 1, true});
  return t;
}

Torus slice(const Torus& all, Count wraps, Count devices) {
  const Sides most = sides_of(all);
  if (devices >= devices_of(most)) return all;
  const auto side = [](const Sides& s) { return s[0] + s[1] + s[2]; };
  const Sides s = *best_block(most, devices, side);
  const bool cubes = wraps > 0 && std::all_of(s.begin(), s.end(), [&](Count n) { return n % wraps == 0; });
  std::array<TorusAxis, 3> axes;
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = {s[i], 1, cubes || s[i] == most[i]};
  return torus_of(axes);
}

Torus of_ranks(const Torus& run, Count ranks, Count stride) {
  const std::optional<Sides> between = block_of(run, stride, {1, 1, 1});
  const std::optional<Sides> block = between ? block_of(run, ranks, *between) : std::nullopt;
  if (block) return torus_of(axes_in(run, *block, *between));
  return torus_of({TorusAxis{ranks, 1, false}});
}

Ratio rank_links(const Torus& t) {
  Ratio all{0, 1};
  for (const TorusAxis& a : t)
    all = in_lowest_terms(all.numerator * a.spacing + links(a) * all.denominator, all.denominator * a.spacing);
  return all;
}

Count farthest(const Torus& t) {
  Count n = 0;
  for (const TorusAxis& a : t) n += steps(a);
  return n;
}

Ratio all_to_all_load(const Torus& t) {
  Ratio busiest{0, 1};
  for (const TorusAxis& a : t) {
    const Ratio load = in_lowest_terms(mul(a.ranks * a.ranks / 4, a.spacing), mul(a.ranks, links(a)));
    if (load.value() > busiest.value()) busiest = load;
  }
  const Ratio all = rank_links(t);
  return in_lowest_terms(mul(busiest.numerator, all.numerator), mul(busiest.denominator, all.denominator));
}

}  // namespace llmcalc
