#pragma once
/// Placement of a group's ranks on the levels of a cluster's links.

#include <array>

#include "calc/cluster.hpp"

namespace llmcalc {

/// The parts of a group that one level of links connects. A part is the set of ranks that the next inner level
/// connects; on the innermost level, it is a single rank.
struct Meeting {
  Count parts = 1;   ///< number of parts connected; 1: the level is not used
  Count fewest = 1;  ///< number of ranks in the smallest part
  Count most = 1;    ///< total number of ranks connected by the level
  constexpr bool operator==(const Meeting&) const = default;
};

/// One Meeting per level of a cluster, innermost first.
using Route = std::array<Meeting, 4>;

/// The route of the slowest group of kind `g`, which a step waits for. On the outermost level where routes differ, the
/// slowest has the smallest part, then the most parts. If groups divide evenly over the levels, all groups of a kind
/// have the same route, and the product of `parts` is the size of the group.
///
/// A group is placed as in calc/layout.hpp: it has a first rank b, and ranks at b + i s + j t. A node of J devices
/// begins at a multiple of J. A group of 12 neighbors in nodes of 8 has 8 ranks in one node and 4 in the next: parts
/// 2, fewest 4, most 12 on the network. Groups of 3 in nodes of 8 are each inside one node, except the third, on
/// devices 6, 7 and 8: parts 2, fewest 1. A run starts at a node boundary; devices of other runs are not modeled.
Route route(const Cluster& c, const Layout& l, Group g);

/// Number of nodes that a group occupies; a node is the set of devices that the innermost level connects.
Count nodes(const Route& r);

/// Whether the nodes to which a token may be routed hold at least top_k experts (Layout::expert_nodes).
bool holds_choices(const Cluster& c, const Layout& l, const Moe& moe);

/// The outermost level that connects ranks of a group.
Count outermost_level(const Cluster& c, const Layout& l, Group g);

}  // namespace llmcalc
