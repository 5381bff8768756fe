#pragma once
/// Mean power of the devices that answer an inference request, and energy per token.

#include <optional>

#include "ask/answer/inference.hpp"
#include "ask/answer/interval.hpp"
#include "serve/served.hpp"

namespace llmcalc {

/// A mean and its 90 % interval.
struct Estimated {
  double value = 0;
  RelativeInterval ends{};
};

/// Watts of one device during a pass, without cooling: --watts, else a share of the rated power by utilization
/// (presets/estimators/power_estimate.hpp). Absent if the power is unknown, and for unlike devices.
std::optional<Estimated> pass_watts(const InferenceAnswer& a, const PassEstimate& pass);

/// Joules per token of all devices, for a pass with `tokens` tokens. `of_time`: interval of the pass's time.
Estimated joules_per_token(const InferenceAnswer& a, const PassEstimate& pass, const Estimated& watts,
                           const std::optional<EstimateInterval>& of_time, Count tokens);

/// Watts of all devices of a server on average, including cooling (PUE) and the time between passes. Absent if the
/// power is unknown.
std::optional<Estimated> serving_watts(const Request& r, const Served& s);

/// Interval of a product of independent factors: their relative errors add in squares.
RelativeInterval both(const RelativeInterval& a, const RelativeInterval& b);

}  // namespace llmcalc
