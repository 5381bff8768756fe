#pragma once
/// How the ranks of a group lie on the levels of links.

#include <array>

#include "calc/cluster.hpp"

namespace llmcalc {

/// The parts of a group that one level of links joins. A part is the ranks that the next level inside joins; on the
/// innermost level it is a single rank.
struct Meeting {
  Count parts = 1;   ///< that the level joins; 1: the level has nothing to do
  Count fewest = 1;  ///< ranks of the part that has the fewest
  Count most = 1;    ///< ranks of all that the level joins
  constexpr bool operator==(const Meeting&) const = default;
};

/// The levels of a cluster, innermost first.
using Route = std::array<Meeting, 4>;

/// The route of the group to which its levels leave the least: of all groups of a kind the one whose part with the
/// fewest ranks has fewer than that of any other, on the outermost level where they differ, then the one with more
/// parts. A step waits for it. Where the groups divide evenly over the levels all of a kind have the same route, and
/// the product of `parts` is the size of the group.
///
/// Groups lie as calc/layout.hpp has it: a first rank b, and ranks at b + i s + j t. A node of J devices holds those
/// between two multiples of J. With 12 neighbours and nodes of 8 a group has 8 ranks in one node and 4 in the next, so
/// that 12 = 8 + 4 has parts 2, fewest 4, most 12 on the network. Groups of 3 in nodes of 8 lie in one node each but
/// for the third, at 6, 7 and 8: parts 2, fewest 1. Devices of other runs are not known: the run begins with a node.
Route route(const Cluster& c, const Layout& l, Group g);

/// Nodes over which a group lies, a node being what the innermost level joins.
Count nodes(const Route& r);

/// Whether the nodes to which a token may go hold as many experts as it is sent to (Layout::expert_nodes).
bool holds_choices(const Cluster& c, const Layout& l, const Moe& moe);

/// The outermost level on which ranks of a group meet.
Count outermost_level(const Cluster& c, const Layout& l, Group g);

}  // namespace llmcalc
