#include "ask/answer/run.hpp"

#include <fmt/format.h>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/prices.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

double throughput(const Request& r, const TrainEstimate& e) {
  if (r.run.measured_tokens_per_s) return *r.run.measured_tokens_per_s;
  if (!r.run.mfu) return tokens_per_second(e, e.estimate);
  const double per_token = static_cast<double>(e.flops.model_total.value) / real(mul(r.plan.micro_batch, r.plan.seq));
  const FlopsPerSecond peak = r.hardware->cluster.device.peak(r.plan.precision);
  return *r.run.mfu * real(devices(r.layout)) * peak.value / per_token;
}

/// Throws if the run loses nearly all its time to failures and checkpoints, and would never end.
void require_progress(const Failures& f, double saved) {
  constexpr double least = 0.01;
  if (saved >= least) return;
  throw InputError(
      fmt::format("--mtbf {:g}: the run makes no progress with a failure every {} on {}, {} per checkpoint and {} per "
                  "restart; raise --mtbf or --checkpoint-bandwidth, or lower --restart",
                  f.mtbf_hours, seconds_text(time_between_failures(f)), counted(f.devices, "GPU"),
                  seconds_text(f.checkpoint), seconds_text(f.restart)));
}

RunFailures failures_in(const Request& r, Seconds time) {
  RunFailures all{.rates = failures_of(r, devices(r.layout)), .checkpoint = checkpoint_bytes(r)};
  all.goodput = goodput(all.rates);
  require_progress(all.rates, all.goodput);
  all.count = time.value / all.goodput / time_between_failures(all.rates).value;
  return all;
}

void add_energy(const Request& r, WholeTraining& w) {
  w.watts = watts_of(r);
  if (!w.watts && (r.run.co2 || r.gave("--pue")))
    throw InputError(fmt::format("{} requires the power per GPU, which '{}' does not define; set --watts",
                                 r.run.co2 ? "--co2" : "--pue", r.hardware->name));
  if (!w.watts) return;
  w.energy_kwh = energy_kwh(w.effective_gpu_hours(), *w.watts, r.run.pue);
  if (r.run.co2) w.co2_kg = co2_kg(*w.energy_kwh, *r.run.co2);
}

/// GPUs that finish in time if the step's time is `scale` times the estimate.
std::optional<Count> gpus_if(Request r, double rate, double scale) {
  *r.run.days /= scale;
  return gpus_for_days(r, rate).gpus;
}

void add_gpus(const Request& r, double rate, WholeTraining& w) {
  w.gpus = gpus_for_days(r, rate);
  if (!w.interval) return;
  w.gpus_low = gpus_if(r, rate, 1 / w.interval->faster());
  w.gpus_high = gpus_if(r, rate, w.interval->factor);
}

WholeTraining whole_training(const Request& r, double rate, const std::optional<EstimateInterval>& interval) {
  WholeTraining w{.time = training_time(real(*r.run.tokens), rate)};
  w.gpu_hours = device_hours(devices(r.layout), w.time);
  if (!r.run.measured_tokens_per_s && !r.run.mfu) w.interval = interval;
  if (r.run.mtbf) w.failures = failures_in(r, w.time);
  if (r.run.days) add_gpus(r, rate, w);
  add_energy(r, w);
  w.usd_per_gpu_hour = price_of(r);
  if (w.usd_per_gpu_hour) w.cost_usd = cost(w.effective_gpu_hours(), *w.usd_per_gpu_hour);
  return w;
}

}  // namespace

double WholeTraining::effective_days() const { return days(time) / (failures ? failures->goodput : 1); }
double WholeTraining::effective_gpu_hours() const { return gpu_hours / (failures ? failures->goodput : 1); }

RunEstimate run_estimate(const Request& r, const TrainEstimate& e, const std::optional<EstimateInterval>& interval) {
  RunEstimate run{.tokens_per_s = throughput(r, e)};
  run.possible = r.run.measured_tokens_per_s || r.run.mfu || e.memory.peak <= usable_memory(r);
  if (r.run.tokens) run.whole = whole_training(r, run.tokens_per_s, interval);
  return run;
}

}  // namespace llmcalc
