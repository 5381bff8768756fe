#pragma once
/// A torus of links, and the part of it that a group's ranks occupy.
///
/// Along each axis a device has two links of one-way rate w, one to each neighbor. A group has m ranks on an axis,
/// one on every s-th device. An axis whose ends are connected is a ring and gives each rank c = 2 links; otherwise it
/// is
/// a line, whose ends have c = 1. The s groups interleaved on an axis share its links, so a rank has
///   L = sum over axes of c / s   links, and the bandwidth L w
///   all-gather, reduce-scatter   (n-1)/n M / (L w): the message is split into one part per axis; each part traverses
///                                the axes in a different order, in both directions. An all-reduce consists of both
///   all-to-all                   floor(m^2/4)/m s/c M / w on the busiest axis: a rank sends M/m to each of the m
///                                positions of an axis, on average floor(m^2/4)/m steps away in a ring; the middle link
///                                of a line carries as much as both links of a rank in a ring
///   one rank to another          M / w: one link
/// The latency of a collective is that of its longest path: the sum over the axes of m/2 (ring) or m - 1 (line) steps.
/// With one axis, m even and V = m M, these are the V / (2 w) and V / (8 w) of "How to Scale Your Model" (Austin et al.
/// 2025, jax-ml.github.io/scaling-book, chapter 3), whose W is 2 w. For the volume of an all-to-all times its mean
/// distance, see Dally & Towles 2004, section 3.3. Not modeled: contention between groups of different kinds, and
/// routing around a busy axis.

#include "calc/inplace_vector.hpp"
#include "calc/units.hpp"

namespace llmcalc {

struct TorusAxis {
  Count ranks = 1;    ///< number of ranks of a group, or of devices
  Count spacing = 1;  ///< distance between ranks in devices
  bool closed = false;
  constexpr bool operator==(const TorusAxis&) const = default;
};
/// Axes with more than one rank. Empty: a switch, with full bandwidth between all ranks.
using Torus = InplaceVector<TorusAxis, 3>;

/// A torus with the given number of devices per axis; all axes are rings.
Torus whole_torus(const InplaceVector<Count, 3>& dimensions);

/// The part of a torus for a run of `devices` devices: the block with the fewest devices that contains them and, on
/// ties, the one closest to a cube. Its axes are rings if they are whole, or if all axes have a multiple of `wraps`
/// devices (0: only whole axes): in TPU v4 and v5p, optical switches connect the ends of any row of 4 x 4 x 4 cubes
/// (Jouppi et al. 2023, arXiv:2304.01433).
Torus slice(const Torus& all, Count wraps, Count devices);

/// The part of a run's torus that `ranks` ranks of a group occupy, one per `stride` devices. The devices from one
/// rank to the next form a block, and the ranks form a block of these blocks. Of all such arrangements, the one with
/// the fewest devices is used; ties are broken by whole rings, whose links are not shared, then by the most links per
/// rank, the most rings, and the fewest steps. If no block fits the ranks, they form a line.
Torus of_ranks(const Torus& run, Count ranks, Count stride);

/// L: links per rank, in units of one link of an axis in one direction.
Ratio rank_links(const Torus& t);
/// Number of steps to the farthest rank.
Count farthest(const Torus& t);
/// Bytes that an all-to-all sends over the busiest axis, in units of M / (L w).
Ratio all_to_all_load(const Torus& t);

}  // namespace llmcalc
