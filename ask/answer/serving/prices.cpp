#include "ask/answer/serving/prices.hpp"

#include <fmt/format.h>

#include "ask/request/prices.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "calc/run.hpp"

namespace llmcalc {
namespace {

constexpr double tokens_of_a_price = 1e6;

/// API price of an average request's tokens.
double api_cost(const ApiPrice& api, const Served& s) {
  return (s.prompt_rate * api.input + s.token_rate * api.output) / tokens_of_a_price / s.request_rate;
}

}  // namespace

std::string prices_text(const ServingPrices& p, const std::optional<RelativeInterval>& interval) {
  const auto text = [&](double of_token, const char* kind) {
    const double usd = tokens_of_a_price * of_token;
    const bool has_ends = interval && !interval->is_exact();
    const RelativeInterval ends = has_ends ? interval->inverse() : RelativeInterval();
    return fmt::format("{:.3g} USD{} per million {} tokens", usd,
                       has_ends ? fmt::format(" ({:.3g} to {:.3g})", ends.low * usd, ends.high * usd) : "", kind);
  };
  return text(p.input, "input") + (p.output == 0 ? "" : ", " + text(p.output, "output"));
}

std::optional<ServingPrices> serving_prices(const Request& r, const ServingRun& run, const Served& s) {
  const std::optional<double> price = price_of(r);
  if (!price || s.requests == 0) return std::nullopt;
  ServingPrices p;
  p.usd_per_second = cost(device_hours(serving_gpus(r), Seconds(1)), *price);
  p.prompt_share = run.prompt_seconds / (run.prompt_seconds + run.answer_seconds);
  p.input = p.usd_per_second * p.prompt_share / s.prompt_rate;
  p.output = p.usd_per_second * (1 - p.prompt_share) / s.token_rate;
  if (r.serving.api_price) p.break_even = p.usd_per_second / api_cost(*r.serving.api_price, s);
  return p;
}

}  // namespace llmcalc
