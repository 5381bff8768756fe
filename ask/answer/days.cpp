#include "ask/answer/days.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/software.hpp"
#include "calc/run.hpp"
#include "calc/search.hpp"
#include "calc/train.hpp"
#include "search/space.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr Count most_replicas = Count{1} << 20;  ///< upper limit of the search if no global batch bounds it

/// The request with a different number of replicas.
Request with_replicas(const Request& r, Count dp) {
  Request other = r;
  other.layout.dp = dp;
  if (!r.gave("--global-batch"))
    other.plan.global_batch = r.plan.global_batch / replicas(r.layout) * replicas(other.layout);
  return other;
}

/// Result for a tried number of replicas.
struct Tried {
  Count gpus = 0;
  double days = 0;
  bool fits = false;
};
Tried tried(const Request& of, double rate, Count dp) {
  const Request r = for_training(with_replicas(of, dp));
  const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  const Count gpus = devices(r.layout);
  const double saved = rate * real(gpus) / real(devices(of.layout));
  const double reached = keeps_rate(of) ? saved : tokens_per_second(e, e.estimate);
  const double all = days(training_time(real(*r.run.tokens), reached));
  return {gpus, r.run.mtbf ? all / goodput(failures_of(r, gpus)) : all, e.memory.peak <= usable_memory(r)};
}

bool is_possible(const Request& of, Count dp) {
  const Request r = with_replicas(of, dp);
  return objection(r.model.arch, r.plan, r.layout, r.hardware->cluster).obstacle == Obstacle::none;
}

GpusForDays answer(const Tried& t, const char* how) {
  const std::string took = human_text(Quantity(t.days), Unit::days);
  return {t.gpus, fmt::format("{}{}{}", how, took, t.fits ? "" : ", but does not fit")};
}

/// Tries replica counts that divide the global batch, in ascending order, up to the first that meets the deadline.
GpusForDays of_batch(const Request& r, double rate) {
  std::optional<Tried> fastest;
  for (const Count dp : divisors(r.plan.global_batch / r.plan.micro_batch)) {
    if (!is_possible(r, dp)) continue;
    const Tried t = tried(r, rate, dp);
    if (t.days <= *r.run.days) return answer(t, "same global batch, ");
    if (!fastest || t.days < fastest->days) fastest = t;
  }
  if (!fastest) return {std::nullopt, "no possible replica count divides the global batch"};
  return {std::nullopt, fmt::format("the fastest, --gpus {}, takes {}", fastest->gpus,
                                    human_text(Quantity(fastest->days), Unit::days))};
}

/// Finds the fewest replicas that meet the deadline. The number of sequences per replica is the request's.
GpusForDays of_replicas(const Request& r, double rate) {
  const double needed = real(*r.run.tokens) / (*r.run.days * seconds_per_day * rate) * real(r.layout.dp);
  const auto is_in_time = [&](Count dp) { return is_possible(r, dp) && tried(r, rate, dp).days <= *r.run.days; };
  const Count guess = static_cast<Count>(std::ceil(std::clamp(needed, 1.0, real(most_replicas))));
  Count most = guess;
  while (most < most_replicas && !is_in_time(most)) most = std::min(2 * most, most_replicas);
  const std::optional<Count> dp = first(most, is_in_time, guess);
  if (!dp) return {std::nullopt, "no replica count that the links can connect meets the deadline"};
  return answer(tried(r, rate, *dp), "global batch scaled with the replicas, ");
}

}  // namespace

Failures failures_of(const Request& r, Count gpus) {
  return {.mtbf_hours = *r.run.mtbf,
          .devices = gpus,
          .checkpoint = checkpoint_bytes(r) / *r.run.storage,
          .restart = Seconds(r.run.restart)};
}

Bytes checkpoint_bytes(const Request& r) {
  const States all = training_states(r.model.arch, r.plan);
  return all.weights + all.optimizer;
}

bool keeps_rate(const Request& r) { return r.run.mfu || r.run.measured_tokens_per_s; }

GpusForDays gpus_for_days(const Request& r, double rate) {
  return r.gave("--global-batch") ? of_batch(r, rate) : of_replicas(r, rate);
}

}  // namespace llmcalc
