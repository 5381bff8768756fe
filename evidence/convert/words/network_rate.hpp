#pragma once
/// A device's share of the network between nodes, as sources describe it.

#include <optional>
#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct NetworkShare {
  BytesPerSecond rate;           ///< one-way rate per device
  bool assumed_of_node = false;  ///< whether the stated rate is assumed to be the rate of an entire node
};

/// Per-device share from text such as "8x200 Gb/s", "400 Gb/s per GPU", "4x Omni-Path 100 Gb/s per node", "50 GB/s per
/// GPU", "4x HDR200", "EFA 3200 Gbps". GB are bytes and Gb are bits. Three kinds of rate are per node unless the text
/// assigns them to a device: rates above 800 Gb/s, which no adapter reaches; EFA rates; and, in a node with a single
/// adapter, Ethernet rates up to 100 Gb/s. Networks for storage or management are ignored, and Ethernet is ignored if
/// there is another network. Empty if no rate is stated.
std::optional<NetworkShare> network_share(const std::string& text, Count devices_per_node);

}  // namespace llmcalc
