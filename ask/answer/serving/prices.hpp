#pragma once
/// Prices of served tokens: dollars per million of input and output tokens, energy, break-even against an API.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Costs of a server that is paid for by the hour, whether it is busy or not.
///   cost per second = GPUs x price per hour / 3600
///   input  = cost per second x share of the busy time spent on prompts / prompt tokens per second
///   output = cost per second x share of it spent on answers / answered tokens per second
/// so that tokens times their prices are the whole cost.
struct ServingPrices {
  double usd_per_second = 0;
  double prompt_share = 0;       ///< of the busy time
  double input = 0, output = 0;  ///< USD per token
  /// Requests per second at which the same tokens cost as much from an API; absent without its prices.
  std::optional<double> break_even;
};
/// "0.35 USD per million input tokens, 9.53 USD per million output tokens"; the first alone where prompts take all
/// time.
std::string prices_text(const ServingPrices& p);
/// Absent where no price is known.
std::optional<ServingPrices> serving_prices(const Request& r, const ServingRun& run, const Served& s);

/// Watts of all GPUs, cooling among them; absent where no power is known.
std::optional<double> serving_watts(const Request& r);

}  // namespace llmcalc
