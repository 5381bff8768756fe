#pragma once
/// Change in an estimated time if one part of the machine improves by 10 %.

#include <string_view>
#include <vector>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Relative change of the time: new time / time - 1.
struct TimeChange {
  std::string_view key;    ///< key of the improved part: "peak", "bandwidth", "link", "network", "latency", "host"
  std::string_view label;  ///< name of that part: "matmul peak"
  double change = 0;
};
/// Changes in a training step's time. Empty without software.
std::vector<TimeChange> step_sensitivity(const Request& r);
/// Changes in the time of a decode step at mid-generation. Empty without an engine.
std::vector<TimeChange> decode_sensitivity(const Request& r);

}  // namespace llmcalc
