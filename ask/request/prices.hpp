#pragma once
/// Price and power of one device.

#include <optional>

#include "ask/request/request.hpp"

namespace llmcalc {

/// USD per GPU-hour: stated, else the first that the hardware file has.
std::optional<double> price_of(const Request& r);
/// Watts of one GPU: --watts, else the hardware file's; nothing where neither says so.
std::optional<double> watts_of(const Request& r);

}  // namespace llmcalc
