#pragma once
/// Random requests over all commands, models, devices and options, many of them invalid.

#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::test {

struct AskedRequest {
  json::Value request;
  std::string typed;  ///< the same request as arguments of the program; empty if no words express it
};

/// The same requests for the same seed.
std::vector<AskedRequest> random_requests(std::size_t n, unsigned seed);

}  // namespace llmcalc::test
