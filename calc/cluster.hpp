#pragma once
/// A cluster: devices of one kind, and the levels of links that join them.

#include "calc/device.hpp"
#include "calc/in_place.hpp"
#include "calc/layout.hpp"

namespace llmcalc {

/// Levels from the innermost outwards: NVLink inside a node, rails between nodes, a spine. Each joins `ranks` devices
/// (0, for the outermost only: any number) at a bandwidth one way per device.
struct Cluster {
  Device device;
  InPlace<Link, 4> levels;
};

/// A cluster of devices with one link.
Cluster cluster(const Device& device, const Link& link);

/// The innermost level that joins `span` neighbouring devices. Bandwidth 0: there is no such link.
Link joining_link(const Cluster& c, Count span);

/// The ranks of a group that each level joins, innermost first. Where they divide evenly, their product is the size of
/// the group.
struct Route {
  std::array<Count, 4> ranks{1, 1, 1, 1};
};
Route route(const Cluster& c, const Layout& l, Group g);

/// Whether the switches of some level reduce.
bool reduces(const Cluster& c);

/// Whether the nodes to which a token may go hold as many experts as it is sent to (Layout::expert_nodes).
bool holds_choices(const Cluster& c, const Layout& l, const Moe& moe);

/// Whether the innermost level joins all ranks of a group.
bool is_inside(const Cluster& c, const Layout& l, Group g);

/// The link that all ranks of a group share: the slowest level of its route, over which a flat ring runs.
Link group_link(const Cluster& c, const Layout& l, Group g);

}  // namespace llmcalc
