#pragma once
/// 90 % interval of a server's throughput, and of the prices and the energy per token that follow from it.

#include <optional>

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Interval of the capacity: that of output rates of published runs. Absent if it is unknown.
std::optional<RelativeInterval> capacity_interval(const Request& r);

/// Interval of the throughput. N users send a request every think time Z plus latency R, so that the throughput
/// N / (Z + R) has the interval of R (Little's law). Otherwise the arrivals determine the throughput, unless the
/// capacity, at the low end of its interval, is below their rate. Absent if the interval of the capacity is unknown.
std::optional<RelativeInterval> throughput_interval(const Request& r, const Served& s, double capacity);

}  // namespace llmcalc
