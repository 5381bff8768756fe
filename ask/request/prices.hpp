#pragma once
/// Price and power of one device.

#include <optional>

#include "ask/request/request.hpp"

namespace llmcalc {

/// USD per GPU-hour: --price, else the first price in the hardware file.
std::optional<double> price_of(const Request& r);
/// Watts of one GPU: --watts, else from the hardware file. Absent if neither is set.
std::optional<double> watts_of(const Request& r);

}  // namespace llmcalc
