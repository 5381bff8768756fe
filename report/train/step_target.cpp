#include "report/train/step_target.hpp"

#include <fmt/format.h>

#include <utility>

#include "ask/answer/interval.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/answer/remedy.hpp"
#include "ask/request/software.hpp"
#include "ask/request/target.hpp"
#include "calc/run.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"
#include "report/train/target_search.hpp"
#include "search/reverse.hpp"
#include "search/space.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr const char* section_key = "step_target";

/// The longest step that meets the target; `e` is for the same request.
Seconds allowed_seconds(const Request& r, const TrainEstimate& e) {
  const SpeedTarget& t = *r.target;
  switch (t.kind) {
    case TargetKind::rate:
      return real(e.tokens) * t.time;
    case TargetKind::utilization: {
      const double reached = model_utilization(e, e.estimate, r.plan, r.layout, r.hardware->cluster.device);
      return (reached / t.amount) * e.estimate.total();
    }
    case TargetKind::days:
      return (real(e.tokens) / real(*r.run.tokens)) * Seconds(t.amount * seconds_per_day);
    case TargetKind::time:
    case TargetKind::first_token:
      break;
  }
  return t.time;
}

Attempt step_attempt(const Request& changed, std::string change) {
  try {
    const Request r = for_training(changed);
    const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
    return {std::move(change), e.memory.peak <= usable_memory(r), e.memory.weights, e.estimate.total(),
            allowed_seconds(r, e)};
  } catch (const Overflow&) {
    return {std::move(change), false, {}, endless, {}};
  }
}

void add_step_rate(Section& s, const Request& r, const HardwareRate& rate) {
  if (rate.now > 0) add_rate(s, r, rate, step_attempt);
}

/// Adds the required matmul peak, with the peaks of all formats scaled alike. Not for MFU targets, because MFU falls
/// as the peak grows.
void add_peak(Section& s, const Request& r) {
  if (r.target->kind == TargetKind::utilization) return;
  const DType format = r.plan.precision;
  add_step_rate(s, r,
                {.key = "peak",
                 .label = "matmul peak",
                 .slow_else = "regardless of the peak",
                 .now = r.hardware->cluster.device.peak(format).value,
                 .step = 1e9,
                 .unit = "TFLOP/s",
                 .in_unit = 1e12,
                 .set = [format](HardwareCard& card, double x) {
                   scale_peaks(card, x / card.cluster.device.peak(format).value);
                 }});
}

/// Sets the bandwidth of a node's links, or of the network, and scales the spine above it in proportion.
void set_bandwidth(Cluster& c, std::size_t level, BytesPerSecond bandwidth) {
  const double factor = bandwidth.value / c.levels[level].bandwidth.value;
  for (std::size_t i = level; i < (level == 0 ? 1 : c.levels.size()); ++i)
    c.levels[i].bandwidth = factor * c.levels[i].bandwidth;
}

/// Adds the required bandwidth of a link level, if the layout uses it. The network includes all levels above it.
void add_level(Section& s, const Request& r, std::size_t level, const char* key, const char* slow_else) {
  const auto& levels = r.hardware->cluster.levels;
  if (levels.size() <= level || (level > 0 && devices(r.layout) <= levels[level - 1].ranks)) return;
  add_step_rate(
      s, r,
      {.key = key,
       .label = key,
       .slow_else = slow_else,
       .now = levels[level].bandwidth.value,
       .step = 1e6,
       .unit = "GB/s",
       .in_unit = 1e9,
       .set = [level](HardwareCard& card, double x) { set_bandwidth(card.cluster, level, BytesPerSecond(x)); }});
}

void add_rates(Section& s, const Request& r) {
  add_peak(s, r);
  add_step_rate(s, r,
                {.key = "bandwidth",
                 .label = "memory bandwidth",
                 .slow_else = "regardless of memory bandwidth",
                 .now = r.hardware->cluster.device.bandwidth.value,
                 .step = 1e6,
                 .unit = "GB/s",
                 .in_unit = 1e9,
                 .set = [](HardwareCard& card, double x) { card.cluster.device.bandwidth = BytesPerSecond(x); }});
  if (devices(r.layout) == 1) return;
  add_level(s, r, 0, "link", "regardless of link bandwidth");
  add_level(s, r, 1, "network", "regardless of network bandwidth");
}

/// Replica counts that divide the batch into whole micro-batches, in ascending order, up to the first that meets the
/// target.
std::vector<std::pair<Count, Attempt>> replica_attempts(const Request& r) {
  std::vector<std::pair<Count, Attempt>> all;
  const Count per_replica = replica_devices(r.layout);
  for (const Count dp : divisors(r.plan.global_batch / r.plan.micro_batch)) {
    Request other = r;
    other.layout.dp = dp;
    const Objection o = objection(r.model.arch, r.plan, other.layout, r.hardware->cluster);
    if (o.obstacle != Obstacle::none) continue;
    const Count gpus = mul(per_replica, dp);
    all.emplace_back(gpus, step_attempt(other, fmt::format("--gpus {}", gpus)));
    if (all.back().second.reaches()) break;
  }
  return all;
}

void add_gpus(Section& s, const Request& r) {
  const auto all = replica_attempts(r);
  if (!all.empty() && all.back().second.reaches()) {
    s.add("gpus", "fewest GPUs", all.back().first, Unit::none,
          fmt::format("same global batch, {}", seconds_text(all.back().second.time)));
    return;
  }
  std::vector<Attempt> attempts;
  for (const auto& one : all) attempts.push_back(one.second);
  add_none(s, "no_gpus", "fewest GPUs",
           attempts.empty() ? "no other number of replicas divides the global batch" : why_none(attempts));
}

/// Whether the plan is fast enough but does not fit, so that faster hardware would not help.
bool lacks_memory(const Attempt& a) { return a.in_time() && !a.fits; }

/// Single changes that make a plan fit within the time: "--recompute selective, --optimizer adam8bit".
std::string fitting_in_time(const Request& r) {
  std::string all;
  for (const TypedRemedy& typed : typed_remedies(r))
    if (step_attempt(typed.request, "").reaches()) all += (all.empty() ? "" : ", ") + typed.option;
  return all;
}

/// The verdict for a plan that is fast enough and does not fit.
Finding memory_finding(const Request& r, const Row& reached) {
  const std::string changes = fitting_in_time(for_training(r));
  return {"target",
          fmt::format("{} is met in time, but the plan does not fit in memory: {}; {}", target_text(*r.target),
                      reached.note,
                      changes.empty() ? "no single change makes it fit in that time"
                                      : "each of these changes makes it fit in that time: " + changes),
          true};
}

/// The plan's current step: "8.3 s, 47.8 % MFU".
std::string step_as_it_is(const Request& r, const Attempt& now) {
  const TrainEstimate e = train(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  const double mfu = model_utilization(e, e.estimate, r.plan, r.layout, r.hardware->cluster.device);
  return fmt::format("{} per step, {} MFU, {}{}", seconds_text(now.time), human_text(Quantity(mfu), Unit::ratio),
                     human_text(Quantity(tokens_per_second(e, e.estimate)), Unit::tokens_per_second),
                     lacks_memory(now) ? ", but does not fit" : "");
}

/// Whether the target lies within the estimate's interval, so that a measured step may be on the other side of the
/// target.
bool is_near_target(const Request& r) {
  const auto interval = interval_of(r);
  if (!interval) return false;
  const Attempt now = step_attempt(r, "");
  const double times = now.time / now.allowed;
  return times <= interval->factor && 1 / times <= interval->factor;
}

}  // namespace

Section step_target_section(const Request& r) {
  const Attempt now = step_attempt(r, "the current plan");
  Section s{section_key, "changes that reach " + target_text(*r.target), {}};
  s.add("step_s", "step time limit", now.allowed);
  s.add("reached", "the current plan", now.reaches(), Unit::none, step_as_it_is(for_training(r), now));
  if (!lacks_memory(now)) add_rates(s, r);
  add_gpus(s, r);
  return s;
}

void add_step_target(const Request& r, Report& report) {
  if (!r.target) return;
  report.sections.push_back(step_target_section(r));
  if (lacks_memory(step_attempt(r, "")))
    return report.verdict.push_back(memory_finding(r, *report.row("step_target.reached")));
  report.verdict.push_back(target_finding(report, section_key, *r.target, is_near_target(r)));
}

}  // namespace llmcalc
