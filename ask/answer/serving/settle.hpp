#pragma once
/// Settles which offers serve a load within limits.

#include "ask/answer/serving/plan.hpp"

namespace llmcalc {

/// Dollars per hour of its GPUs; nothing where no price is known.
std::optional<double> usd_per_hour(const ServingOffer& o);
/// Fewest GPUs first, of as many the cheapest.
bool has_fewer_gpus(const ServingOffer& a, const ServingOffer& b);

/// Settles offers as far as they can be shown, and serves the load with these: the `top` best, best first, among them
/// one of fewest GPUs. Of an offer that cannot be among them only that is found out. Each leaves no queue that grows
/// and keeps the limits: but for one draw of the traffic in twenty, the share of requests that do would be less than it
/// is and still as many as --percentile says. With one engine fewer it does not. `goes_on`: false stops when something
/// is found.
std::vector<const ServingOffer*> settle_offers(std::vector<ServingOffer>& offers, std::size_t top,
                                               const std::function<bool()>& goes_on);

}  // namespace llmcalc
