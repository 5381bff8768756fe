#pragma once
/// What would reach a target: one thing changed at a time, and the estimate asked again. Both halves search this way.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "ask/request/target.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// A request with one thing changed.
struct Attempt {
  std::string change;
  bool fits = false;  ///< the device holds it
  Bytes weights{};
  Seconds time{}, allowed{};  ///< that it takes, and that the target leaves it
  bool in_time() const { return time <= allowed; }
  bool reaches() const { return fits && in_time(); }
};
/// The time of what is beyond the engine's range.
inline constexpr Seconds endless(std::numeric_limits<double>::infinity());
/// Asks for a changed request. What is beyond the engine's range fits nowhere and ends never.
using Trial = Attempt (*)(const Request& changed, std::string change);

/// A rate of the hardware that is searched.
struct HardwareRate {
  const char* key;           ///< "bandwidth": of "bandwidth_factor" and "no_bandwidth"
  const char* label;         ///< "memory bandwidth"
  const char* slow_else;     ///< "however fast the memory is"
  double now = 0, step = 0;  ///< in base units; the step in which it is searched
  const char* unit = "";     ///< that it is told in: "GB/s"
  double in_unit = 1;        ///< base units of one of them
  std::function<void(HardwareCard& card, double rate)> set{};
};
/// Adds the least such rate that reaches the target, as a factor, or why none does. Returns the rate.
std::optional<double> add_rate(Section& s, const Request& r, const HardwareRate& rate, Trial trial);

/// A line that says why there is no answer, under a key of its own.
void add_none(Section& s, const std::string& key, const std::string& label, const std::string& why);
/// The reason why none of these attempts reaches the target.
std::string why_none(const std::vector<Attempt>& all);

/// The line of the verdict: whether the target is reached, and each change that reaches it. `near`: a measurement may
/// lie on the other side of it than the estimate. Precondition: the report has that section.
Finding target_finding(const Report& report, const std::string& section, const SpeedTarget& target, bool near);

}  // namespace llmcalc
