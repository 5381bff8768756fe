#include "ask/answer/power.hpp"

#include <algorithm>
#include <cmath>

#include "ask/request/prices.hpp"
#include "ask/request/server.hpp"
#include "calc/elementary.hpp"
#include "presets/estimators/power_estimate.hpp"

namespace llmcalc {
namespace {

/// The power at a share of the rated one, which is its maximum.
Estimated at_share(double rated, double share) {
  const double factor = power_estimate().interval.factor;
  return {rated * share, {1 / factor, std::min(factor, 1 / share)}};
}

/// FLOP/s of all devices over their peak.
double utilization(const Request& r, double flops_per_second, Count devices) {
  const double peak = r.hardware->cluster.device.peak(r.plan.precision).value;
  return peak > 0 ? flops_per_second / (peak * real(devices)) : 0;
}

/// FLOPs of an average answered request; cached prompt tokens cost none.
double flops_of_request(const Request& r, const Served& s) {
  Plan plan = with_batch(r.plan, 1);
  plan.prompt = std::max<Count>(1, std::llround(s.prompt_rate / s.request_rate));
  plan.generate = std::max<Count>(1, std::llround(s.token_rate / s.request_rate));
  const InferEstimate e = infer(r.model.arch, plan, r.layout, r.hardware->cluster);
  return (1 - s.cached) * static_cast<double>(e.prefill.flops.value) +
         real(plan.generate) * static_cast<double>(e.middle.flops.value);
}

double together(double a, double b) { return elementary::exp(std::hypot(elementary::log(a), elementary::log(b))); }

}  // namespace

std::optional<Estimated> pass_watts(const InferenceAnswer& a, const PassEstimate& pass) {
  const Request& r = a.request();
  const Seconds time = pass.estimate.total();
  const std::optional<double> rated = watts_of(r);
  if (!rated || !r.machine.empty() || time <= Seconds()) return std::nullopt;
  if (r.run.watts) return Estimated{*rated};
  const double u = utilization(r, static_cast<double>(pass.flops.value) / time.value, devices(r.layout));
  return at_share(*rated, power_share(power_estimate().parameters, u));
}

Estimated joules_per_token(const InferenceAnswer& a, const PassEstimate& pass, const Estimated& watts,
                           const std::optional<EstimateInterval>& of_time, Count tokens) {
  const double joules = watts.value * real(devices(a.request().layout)) * pass.estimate.total().value;
  const RelativeInterval ends = of_time ? RelativeInterval{1 / of_time->faster(), of_time->factor} : RelativeInterval();
  return {joules / real(tokens), both(watts.ends, ends)};
}

std::optional<Estimated> serving_watts(const Request& r, const Served& s) {
  const std::optional<double> watts = watts_of(r);
  if (!watts || s.requests == 0) return std::nullopt;
  const Count gpus = serving_gpus(r);
  const double rated = *watts * r.run.pue * real(gpus);
  if (r.run.watts) return Estimated{rated};
  const double u = utilization(r, s.request_rate * flops_of_request(r, s), gpus);
  return at_share(rated, mean_power_share(power_estimate().parameters, u, s.utilization));
}

RelativeInterval both(const RelativeInterval& a, const RelativeInterval& b) {
  return {1 / together(1 / a.low, 1 / b.low), together(a.high, b.high)};
}

}  // namespace llmcalc
