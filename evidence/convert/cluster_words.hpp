#pragma once
/// The cluster of a row: its device and links, from what the row states, else from the device's preset.

#include <optional>
#include <string>

#include "evidence/names/device_name.hpp"
#include "evidence/rows/row_cluster.hpp"

namespace llmcalc {

/// What a row says of its hardware.
struct HardwareSaid {
  std::string device, inside, between;  ///< the device, the links inside a node and those between nodes
  std::optional<double> memory_gb, bandwidth_gb_s;
  Count count = 1;
  std::optional<Count> nodes, per_node, cores;
};

RowCluster cluster_of(const HardwareSaid& said, const Devices& devices);

/// Why inference has no time on a device: it has no preset, and its bandwidth is not stated. Empty: it has one.
std::string without_bandwidth(const HardwareSaid& said, const RowCluster& on);

/// How many devices of their own the chip's cores or dies are (two NeuronCores, two TensorCores of a TPU7x); 1: a chip
/// is one device, as a GPU is.
Count cores_of_chip(const HardwareCard& chip);

/// A device that is one of `parts` equal parts of a chip: its memory, bandwidth, rates and links divided, its
/// neighbours multiplied (two NeuronCores on a chip, two TensorCores on a TPU7x).
HardwareCard part_of(const HardwareCard& chip, Count parts);

}  // namespace llmcalc
