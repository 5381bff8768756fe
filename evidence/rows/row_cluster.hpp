#pragma once
/// The device and links of a measurement.

#include <string>
#include <vector>

#include "presets/hardware_file.hpp"

namespace llmcalc {

struct RowCluster {
  HardwareCard hardware{};  ///< of the device as the row has it: a preset, changed where the row says otherwise
  std::string like{};       ///< the preset that it was made from
  bool preset = true;       ///< whether the device has a preset of its own
  std::vector<std::string> assumed{};
  std::string skip{};
  const Cluster& cluster() const { return hardware.cluster; }
};

}  // namespace llmcalc
