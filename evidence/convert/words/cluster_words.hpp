#pragma once
/// Cluster of a row: its device and links, as stated by the row or, if it does not state them, from the device's
/// preset.

#include <optional>
#include <string>

#include "evidence/names/device_name.hpp"
#include "evidence/rows/row_cluster.hpp"

namespace llmcalc {

/// Hardware as stated by a row.
struct HardwareSaid {
  std::string device, inside, between;  ///< device, links inside a node, and links between nodes
  std::optional<double> memory_gb, bandwidth_gb_s;
  Count count = 1;
  std::optional<Count> nodes, per_node, cores;
};

RowCluster cluster_of(const HardwareSaid& said, const Devices& devices);

/// Why no inference time can be predicted for a device: it has no preset, and its bandwidth is not stated. Otherwise
/// empty.
std::string without_bandwidth(const HardwareSaid& said, const RowCluster& on);

/// Number of devices that software sees on one chip, one per core or die (two NeuronCores, two TensorCores of a
/// TPU7x). 1 if the chip is a single device, like a GPU.
Count cores_of_chip(const HardwareCard& chip);

/// One of `parts` equal parts of a chip as a device (two NeuronCores on a chip, two TensorCores on a TPU7x). Memory,
/// bandwidth, rates and links are divided by `parts`, and the number of neighbors is multiplied by it.
HardwareCard part_of(const HardwareCard& chip, Count parts);

}  // namespace llmcalc
