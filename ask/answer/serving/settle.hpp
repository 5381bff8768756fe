#pragma once
/// Determines which offers serve a load within limits.

#include "ask/answer/serving/plan.hpp"

namespace llmcalc {

/// Dollars per hour of the offer's GPUs; absent if the price is unknown.
std::optional<double> usd_per_hour(const ServingOffer& o);
/// Orders by number of GPUs, then by price.
bool has_fewer_gpus(const ServingOffer& a, const ServingOffer& b);

/// Finds the fewest engines of each offer and serves the load with the `top` best offers, best first, including one
/// with the fewest GPUs. Stops early on offers that cannot be among them. Every result has a stable queue and meets the
/// limits: the share of requests within the limits reaches --percentile at 95 % confidence over draws of the traffic.
/// One engine fewer does not suffice. `goes_on`: false stops once a result exists.
std::vector<const ServingOffer*> settle_offers(std::vector<ServingOffer>& offers, std::size_t top,
                                               const std::function<bool()>& goes_on);

}  // namespace llmcalc
