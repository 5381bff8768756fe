#pragma once
/// A device's share of the network between nodes, as sources write it.

#include <optional>
#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct NetworkShare {
  BytesPerSecond rate;           ///< one way, of one device
  bool assumed_of_node = false;  ///< the rate counts as a whole node's, which the text does not say
};

/// The share in "8x200 Gb/s", "400 Gb/s per GPU", "4x Omni-Path 100 Gb/s per node", "50 GB/s per GPU", "4x HDR200",
/// "EFA 3200 Gbps"; GB are bytes and Gb bits. A rate above 800 Gb/s, EFA's, and that of Ethernet up to 100 Gb/s are a
/// node's unless the text says of which device: no adapter is faster, and nodes have one. What is for storage or
/// management does not count, and Ethernet beside another network does not. Nothing: no rate is stated.
std::optional<NetworkShare> network_share(const std::string& text, Count devices_per_node);

}  // namespace llmcalc
