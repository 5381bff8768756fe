#pragma once
/// Device and links of a measurement.

#include <string>
#include <vector>

#include "presets/hardware_file.hpp"

namespace llmcalc {

struct RowCluster {
  HardwareCard hardware{};  ///< the row's device: a preset with the changes that the row states
  std::string like{};       ///< preset from which `hardware` was made
  bool preset = true;       ///< whether the device is a preset
  std::vector<std::string> assumed{};
  std::string skip{};
  const Cluster& cluster() const { return hardware.cluster; }
};

}  // namespace llmcalc
