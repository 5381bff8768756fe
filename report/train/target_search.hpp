#pragma once
/// Searches for changes that reach a target, in training and inference: one change at a time, with a new estimate.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "ask/request/target.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// A request with a single change, and its result.
struct Attempt {
  std::string change;
  bool fits = false;  ///< whether the request fits on the device
  Bytes weights{};
  Seconds time{}, allowed{};  ///< time of the request, and the time that the target allows
  bool in_time() const { return time <= allowed; }
  bool reaches() const { return fits && in_time(); }
};
/// The time of requests whose counts overflow.
inline constexpr Seconds endless(std::numeric_limits<double>::infinity());
/// Evaluates a changed request. A request whose counts overflow never fits and takes `endless` time.
using Trial = Attempt (*)(const Request& changed, std::string change);

/// A hardware rate to search.
struct HardwareRate {
  const char* key;           ///< stem of keys: "bandwidth" in "bandwidth_factor" and "no_bandwidth"
  const char* label;         ///< name in text: "memory bandwidth"
  const char* slow_else;     ///< reason if no rate suffices: "regardless of memory bandwidth"
  double now = 0, step = 0;  ///< current rate and search step, in base units
  const char* unit = "";     ///< display unit: "GB/s"
  double in_unit = 1;        ///< base units per display unit
  std::function<void(HardwareCard& card, double rate)> set{};
};
/// Adds the lowest rate that meets the target, as a factor, or why no rate does. Returns the rate.
std::optional<double> add_rate(Section& s, const Request& r, const HardwareRate& rate, Trial trial);

/// Adds a line that explains a missing answer, under a separate key.
void add_none(Section& s, const std::string& key, const std::string& label, const std::string& why);
/// Why no attempt meets the target.
std::string why_none(const std::vector<Attempt>& all);

/// The verdict line: whether the target is met, and each change that would meet it. `near`: a measurement may be on
/// the other side of the target. Precondition: the report has this section.
Finding target_finding(const Report& report, const std::string& section, const SpeedTarget& target, bool near);

}  // namespace llmcalc
