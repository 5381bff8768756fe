#include "ask/answer/serving/throughput_interval.hpp"

#include <algorithm>

#include "ask/answer/interval.hpp"
#include "ask/request/serving_inputs.hpp"

namespace llmcalc {
namespace {

/// Of users, if every latency R is `times` as long: (Z + R) / (Z + times R).
double of_users(const Request& r, const Served& s, double times) {
  const double think = r.serving.think.value, latency = s.latency.mean.value;
  return (think + latency) / (think + times * latency);
}

/// Of a server to which `rate` requests per second arrive. `times`: of the capacity.
double of_arrivals(double rate, double capacity, double times) {
  return std::min(rate, times * capacity) / std::min(rate, capacity);
}

}  // namespace

std::optional<RelativeInterval> capacity_interval(const Request& r) {
  const auto interval = interval_of(r, InferenceClass::whole_batch);
  if (!interval) return std::nullopt;
  return RelativeInterval{1 / interval->factor, interval->factor};
}

std::optional<RelativeInterval> throughput_interval(const Request& r, const Served& s, double capacity) {
  const auto all = capacity_interval(r);
  if (!all || s.requests == 0) return std::nullopt;
  if (r.serving.users) return RelativeInterval{of_users(r, s, all->high), of_users(r, s, all->low)};
  const double rate = r.serving.rate.value_or(s.request_rate);
  return RelativeInterval{of_arrivals(rate, capacity, all->low), of_arrivals(rate, capacity, all->high)};
}

}  // namespace llmcalc
