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

/// A level as `ranks` neighbouring devices have it, which run alone: of a torus the part over which they lie.
Link joining_ranks(Link level, Count ranks);

/// A level as a group has it: of a torus the axes along which its ranks lie (calc/links/torus.hpp) and their bandwidth.
Link joining_group(Link level, const Layout& l, Group g);

/// Whether the switches of some level reduce.
bool reduces(const Cluster& c);

/// Whether the innermost level joins all ranks of every group of a kind.
bool is_inside(const Cluster& c, const Layout& l, Group g);

/// The link that all ranks of a group share: the innermost level that joins every group of its kind, over which a flat
/// ring runs. Groups that nodes do not hold evenly cross from one to the next, and a step waits for the slowest: of
/// groups of 3 in nodes of 8 the third lies on devices 6, 7 and 8, so that all talk over the network. Bandwidth 0:
/// there is no such link. Of a torus the part over which the group lies.
Link group_link(const Cluster& c, const Layout& l, Group g);

}  // namespace llmcalc
