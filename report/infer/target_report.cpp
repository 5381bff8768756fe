#include "report/infer/target_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/answer/inference.hpp"
#include "ask/answer/interval.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/software.hpp"
#include "ask/request/target.hpp"
#include "calc/infer.hpp"
#include "calc/search.hpp"
#include "report/interval.hpp"
#include "report/train/target_search.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr Count most_served = Count{1} << 24;
constexpr double megabyte = 1e6;  ///< step size of the search for a bandwidth
constexpr std::array<std::string_view, 3> narrower_formats{"fp8", "int8", "int4-g128"};

/// The estimated time to which the target applies.
Seconds target_seconds(const Request& r) {
  const Request asked = for_inference(r);
  const Cluster& on = asked.hardware->cluster;
  const Plan& p = r.plan;
  const PassEstimate pass = r.target->kind == TargetKind::first_token
                                ? prefill(r.model.arch, p, r.layout, on, p.prompt)
                                : decode(r.model.arch, p, r.layout, on, p.prompt + p.generate / 2);
  return pass.estimate.total();
}

Attempt attempt(const Request& r, std::string change) {
  try {
    const InferenceAnswer a(for_inference(r));
    return {std::move(change), a.fits(), a.memory().weights, target_seconds(r), r.target->time};
  } catch (const Overflow&) {
    return {std::move(change), false, {}, endless, r.target->time};
  }
}

void add_bandwidth(Section& s, const Request& r) {
  const HardwareRate rate{
      .key = "bandwidth",
      .label = "memory bandwidth",
      .slow_else = "regardless of memory bandwidth",
      .now = r.hardware->cluster.device.bandwidth.value,
      .step = megabyte,
      .unit = "GB/s",
      .in_unit = 1e9,
      .set = [](HardwareCard& card, double x) { card.cluster.device.bandwidth = BytesPerSecond(x); }};
  if (const auto found = add_rate(s, r, rate, attempt)) s.add("memory_bytes_per_s", "", *found);
}

Attempt with_sequences(const Request& r, Count batch) {
  Request other = r;
  other.plan = with_batch(r.plan, batch);
  return attempt(other, fmt::format("batch {}", batch));
}

void add_batch(Section& s, const Request& r) {
  const std::optional<Count> too_many = first(
      most_served, [&](Count n) { return !with_sequences(r, n).reaches(); }, r.plan.batch);
  const Count most = too_many.value_or(most_served + 1) - 1;
  if (most == 0) return add_none(s, "no_batch", "largest batch", why_none({with_sequences(r, 1)}));
  const Attempt a = with_sequences(r, most);
  const char* why = with_sequences(r, most + 1).fits ? "" : ", limited by memory";
  s.add("batch", "largest batch", most, Unit::sequences, fmt::format("{}{}", seconds_text(a.time), why));
}

/// Number of devices connected by the innermost links; if unlimited, the number of attention heads.
Count joined_devices(const Request& r) {
  const auto& levels = r.hardware->cluster.levels;
  if (levels.size() == 0 || levels[0].bandwidth.value <= 0) return 1;
  return levels[0].ranks > 0 ? levels[0].ranks : r.model.arch.heads;
}

/// Device counts 1, 2, 4, ... that divide the model, up to the first that meets the target.
std::vector<std::pair<Count, Attempt>> device_attempts(const Request& r) {
  std::vector<std::pair<Count, Attempt>> all;
  for (Count n = 1; n <= joined_devices(r); n *= 2) {
    Request other = r;
    give(other, *find_option("--tp"), fmt::format("{}", n));
    if (flaw(r.model.arch, other.layout) != LayoutFlaw::none) continue;
    all.emplace_back(n, attempt(other, fmt::format("--tp {}", n)));
    if (all.back().second.reaches()) break;
  }
  return all;
}

void add_devices(Section& s, const Request& r) {
  const auto all = device_attempts(r);
  if (!all.empty() && all.back().second.reaches()) {
    s.add("tp", "tensor parallel", all.back().first, Unit::none,
          fmt::format("{}, {}", all.back().first == 1 ? "device" : "devices", seconds_text(all.back().second.time)));
    return;
  }
  std::vector<Attempt> attempts;
  for (const auto& one : all) attempts.push_back(one.second);
  add_none(s, "no_tp", "tensor parallel",
           attempts.empty() ? "no device count within one domain divides the model" : why_none(attempts));
}

void add_weights(Section& s, const Request& r, const Attempt& now) {
  std::vector<Attempt> all;
  for (const std::string_view format : narrower_formats) {
    Request other = r;
    give(other, *find_option("--weight-precision"), format);
    const Attempt a = attempt(other, fmt::format("--weight-precision {}", format));
    if (a.weights >= now.weights) continue;
    if (a.reaches())
      return s.add("weight_precision", "low-precision weights", std::string(format), Unit::none, seconds_text(a.time));
    all.push_back(a);
  }
  add_none(s, "no_weight_precision", "low-precision weights",
           all.empty() ? fmt::format("weights are already no wider than {}", narrower_formats.back()) : why_none(all));
}

std::string as_it_is(const Request& r, const Attempt& now) {
  const std::string speed = human_text(Quantity(1 / now.time.value), Unit::tokens_per_second);
  return fmt::format("{}{}{}", r.target->kind == TargetKind::first_token ? "" : speed + ", ", seconds_text(now.time),
                     now.in_time() && !now.fits ? ", but does not fit" : "");
}

}  // namespace

Section target_section(const Request& r) {
  const bool first_token = r.target->kind == TargetKind::first_token;
  const Attempt now = attempt(r, "the current plan");
  const bool reached = now.reaches();
  Section s{"target", "changes that reach " + target_text(*r.target), {}};
  s.add(first_token ? "ttft_s" : "time_per_token_s", first_token ? "limit to first token" : "limit per token",
        r.target->time);
  s.add("reached", "the current plan", reached, Unit::none, as_it_is(r, now));
  add_bandwidth(s, r);
  add_batch(s, r);
  add_devices(s, r);
  if (!reached) add_weights(s, r, now);
  return s;
}

namespace {

/// Whether the target lies within the estimate's interval, so that a measurement may be on the other side of the
/// target.
bool is_near(const Request& r) {
  const auto interval =
      interval_of(r, r.target->kind == TargetKind::first_token ? InferenceClass::prefill : InferenceClass::decode);
  if (!interval) return false;
  const double times = target_seconds(r) / r.target->time;
  return times <= interval->factor && 1 / times <= interval->factor;
}

}  // namespace

void add_target(const Request& r, Report& report) {
  if (!r.target) return;
  report.sections.push_back(target_section(r));
  report.verdict.push_back(target_finding(report, "target", *r.target, is_near(r)));
}

}  // namespace llmcalc
