#pragma once
/// Change of a time where one part of the machine is a tenth better.

#include <string_view>
#include <vector>

#include "ask/request/request.hpp"

namespace llmcalc {

/// (new time / time) - 1.
struct TimeChange {
  std::string_view key;    ///< "peak", "bandwidth", "link", "network", "latency", "host"
  std::string_view label;  ///< "matmul peak"
  double change = 0;
};
/// Of a training step; empty without software, whose terms it changes.
std::vector<TimeChange> step_sensitivity(const Request& r);
/// Of a decode step in the middle of the generation; empty without an engine.
std::vector<TimeChange> decode_sensitivity(const Request& r);

}  // namespace llmcalc
