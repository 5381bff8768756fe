#pragma once
/// Changes to the hardware of a request: memory, network and price of a device.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calc/units.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Request;

/// Memory size: absolute, or a multiple of the size in the hardware file.
struct MemoryGiven {
  std::optional<Bytes> size{};
  double scale = 1;
};

struct WhatIf {
  std::optional<MemoryGiven> memory{};
  std::optional<double> network{};                       ///< multiple of the bandwidth between nodes
  std::vector<std::pair<std::string, double>> prices{};  ///< USD per GPU-hour by hardware name
  bool is_applied = false;  ///< whether the changes have been applied to the request's hardware
};

/// Reads "24GB", "24GiB" or "1.5x".
MemoryGiven read_memory_given(std::string_view text, std::string_view where);
/// Reads a factor: "2x" is 2.
double read_scale(std::string_view text, std::string_view where);
/// Reads "h100=2.1,mi300x=1.9". Throws InputError for unknown hardware.
std::vector<std::pair<std::string, double>> read_prices(std::string_view text, std::string_view where);
/// JSON in the syntax that the functions above parse.
json::Value memory_given_json(const MemoryGiven& m);
std::string scale_text(double scale);
std::string prices_text(const WhatIf& w);

/// Applies the changes to the request's hardware, once. Throws InputError if the hardware has no network to scale.
void apply_what_if(Request& r);

}  // namespace llmcalc
