#pragma once
/// Determines which offers serve a load within limits.

#include "ask/answer/serving/plan.hpp"

namespace llmcalc {

/// Dollars per hour of the offer's GPUs; absent if the price is unknown.
std::optional<double> usd_per_hour(const ServingOffer& o);
/// Orders by number of GPUs, then by price.
bool has_fewer_gpus(const ServingOffer& a, const ServingOffer& b);

/// Callbacks of settle_offers().
struct Settling {
  std::function<bool()> goes_on{};  ///< called from all threads; returns false to stop
  /// Calls work(i) for every i below n, possibly concurrently.
  std::function<void(std::size_t n, const std::function<void(std::size_t)>& work)> each{};
  std::function<void(double done)> progress{};  ///< called with the finished share of the offers; thread-safe
};

/// Finds the fewest engines of each offer and serves the load with the `top` best offers, best first, including one
/// with the fewest GPUs. Stops early on offers that cannot be among them. Every result has a stable queue and meets
/// the limits: the share of requests within the limits reaches --percentile at 95 % confidence over draws of the
/// traffic. The number of engines is the smallest that suffices, to within 1/128. If stopped, returns at most two of
/// the offers finished so far.
std::vector<const ServingOffer*> settle_offers(std::vector<ServingOffer>& offers, std::size_t top,
                                               const Settling& settling);

}  // namespace llmcalc
