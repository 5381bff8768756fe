#pragma once
/// Rows of the option table for a server under traffic.

#include <span>

#include "ask/request/options/options.hpp"

namespace llmcalc {

std::span<const Option> traffic_options();
std::span<const Option> server_options();

}  // namespace llmcalc
