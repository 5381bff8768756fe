#pragma once
/// A cluster: identical devices, and the levels of links between them.

#include "calc/device.hpp"
#include "calc/inplace_vector.hpp"
#include "calc/layout.hpp"

namespace llmcalc {

/// Devices and levels of links, innermost level first: for example NVLink inside a node, rails between nodes, and a
/// spine. Each level connects `ranks` devices (0: any number; only the outermost level) at a one-way bandwidth per
/// device.
struct Cluster {
  Device device;
  InplaceVector<Link, 4> levels;
};

/// A cluster of devices with a single level of links.
Cluster cluster(const Device& device, const Link& link);

/// The innermost level that connects `span` neighboring devices; without such a level, a link of bandwidth 0.
Link joining_link(const Cluster& c, Count span);

/// The level as seen by a run of `ranks` neighboring devices; on a torus, the part that these devices occupy.
Link joining_ranks(Link level, Count ranks);

/// The level as seen by a group; on a torus, the axes of its ranks (calc/links/torus.hpp) and their bandwidth.
Link joining_group(Link level, const Layout& l, Group g);

/// Whether any level has switches that perform reductions (in-network reduction).
bool reduces(const Cluster& c);

/// Whether the innermost level connects all ranks of every group of kind `g`.
bool is_inside(const Cluster& c, const Layout& l, Group g);

/// The link that a flat ring over a group uses: the innermost level that connects every group of its kind; bandwidth 0
/// if there is no such link. If groups do not divide evenly into nodes, some cross a node boundary, and a step waits
/// for the slowest: with groups of 3 in nodes of 8, the third group is on devices 6, 7 and 8, so all groups count as
/// using the network. On a torus, the link covers the part that the group occupies.
Link group_link(const Cluster& c, const Layout& l, Group g);

}  // namespace llmcalc
