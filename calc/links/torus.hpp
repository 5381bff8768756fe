#pragma once
/// A torus of links, and the part of it over which the ranks of a group lie.
///
/// Along each axis a device has two links of rate w one way, one to either neighbour. A group's ranks lie m to an axis,
/// every s-th device of it. An axis whose ends are joined is a ring and gives each rank c = 2 links; otherwise it is a
/// line, whose ends have c = 1. The s groups that alternate along an axis share its links, so that a rank has
///   L = sum over axes of c / s   links, and the bandwidth L w
///   all-gather, reduce-scatter   (n-1)/n M / (L w): the message in as many parts as axes, each of which runs along the
///                                axes in another order, both ways round; an all-reduce is both
///   all-to-all                   the busiest axis's  floor(m^2/4)/m s/c M / w: a rank sends M/m to each of the m
///                                positions of an axis, floor(m^2/4)/m steps away in the mean of a ring; the middle
///                                link of a line carries as much as both links of a ring's rank together
///   one rank to another          M / w: one link
/// and no rank is more steps away than the sum of m/2 (ring) or m - 1 (line) over the axes: latencies of a collective.
/// With one axis, m even and V = m M these are V / (2 w) and V / (8 w) of "How to Scale Your Model" (Austin et al.
/// 2025, jax-ml.github.io/scaling-book, chapter 3), whose W is 2 w. The volume of an all-to-all times its mean distance
/// is Dally & Towles 2004, section 3.3. Left out: contention between groups of different kinds, and routes that evade a
/// busy axis.

#include "calc/in_place.hpp"
#include "calc/units.hpp"

namespace llmcalc {

struct TorusAxis {
  Count ranks = 1;    ///< of a group, or devices
  Count spacing = 1;  ///< devices from one to the next
  bool closed = false;
  constexpr bool operator==(const TorusAxis&) const = default;
};
/// Axes that have more than one rank. Empty: a switch, over which each rank reaches each at the full bandwidth.
using Torus = InPlace<TorusAxis, 3>;

/// A torus of so many devices to each axis, all of them rings.
Torus whole_torus(const InPlace<Count, 3>& dimensions);

/// The part in which a run has so many devices: the block of the fewest that hold them, of those the one nearest to a
/// cube. Its axes are rings where they are whole, or where all of them have a multiple of `wraps` devices (0: only
/// whole ones): optical switches join the ends of any row of cubes of 4 x 4 x 4 in TPU v4 and v5p (Jouppi et al. 2023,
/// arXiv:2304.01433).
Torus slice(const Torus& all, Count wraps, Count devices);

/// The part of a run's torus over which `ranks` of a group lie, one in `stride` devices. The devices from one rank to
/// the next are a block, and the ranks a block of such blocks: of those of the fewest devices the one that is whole
/// rings, whose links it has to itself; else the one that gives a rank most links, then the one with the most rings,
/// then the one with the fewest steps. Ranks that no block holds are a line.
Torus of_ranks(const Torus& run, Count ranks, Count stride);

/// L, in links of one axis and direction.
Ratio rank_links(const Torus& t);
/// Steps to the farthest rank.
Count farthest(const Torus& t);
/// Bytes that an all-to-all sends over the busiest axis, in units of M / (L w).
Ratio all_to_all_load(const Torus& t);

}  // namespace llmcalc
