#pragma once
/// Prices of served tokens: dollars per million input and output tokens, break-even against an API.

#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/throughput_interval.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Costs of a server paid by the hour, busy or idle. Tokens times these prices sum to the whole cost.
///   cost per second = GPUs x price per hour / 3600
///   input  = cost per second x share of the busy time spent on prompts / prompt tokens per second
///   output = cost per second x share of the busy time spent on answers / generated tokens per second
struct ServingPrices {
  double usd_per_second = 0;
  double prompt_share = 0;       ///< share of the busy time spent on prompts
  double input = 0, output = 0;  ///< prices in USD per token
  /// Requests per second at which an API charges the same for these tokens; absent without API prices.
  std::optional<double> break_even;
};
/// Both prices as text: "0.35 USD per million input tokens, 9.53 USD (5.8 to 15.7) per million output tokens"; only the
/// input price if prompts account for all the time. `interval`: of the throughput, if it is known and not exact.
std::string prices_text(const ServingPrices& p, const std::optional<RelativeInterval>& interval);
/// Absent if the price is unknown.
std::optional<ServingPrices> serving_prices(const Request& r, const ServingRun& run, const Served& s);

}  // namespace llmcalc
