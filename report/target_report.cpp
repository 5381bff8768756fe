#include "report/target_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/infer.hpp"
#include "calc/search.hpp"
#include "report/options.hpp"
#include "report/sections.hpp"
#include "report/software.hpp"

namespace llmcalc {
namespace {

constexpr Count most_sequences = Count{1} << 24;
constexpr Count times_the_bandwidth = Count{1} << 16;  ///< from here on memory takes no time
constexpr double megabyte = 1e6;                       ///< the step in which bandwidths are searched
constexpr std::array<std::string_view, 3> narrower_formats{"fp8", "int8", "int4-g128"};

std::string took(Seconds t) { return human_text(Quantity(t.value), Unit::seconds); }

/// The time that the target is about, as the estimate has it.
Seconds target_seconds(const Request& r) {
  const Request asked = for_inference(r);
  const Cluster& on = asked.hardware->cluster;
  const Plan& p = r.plan;
  const PassEstimate pass = r.target->first_token ? prefill(r.model.arch, p, r.layout, on, p.prompt)
                                                  : decode(r.model.arch, p, r.layout, on, p.prompt + p.generate / 2);
  return pass.estimate.total();
}

/// A request with one thing changed: its time, and whether the device holds it.
struct Attempt {
  std::string change;
  bool fits = false;
  Bytes weights;
  Seconds time;
};

/// Counts beyond the engine's range fit nowhere.
Attempt attempt(const Request& r, std::string change) {
  const Device& device = r.hardware->cluster.device;
  try {
    const Memory m = inference_memory(r.model.arch, r.plan, r.layout, device.achieved.overhead);
    const bool fits = real(m.peak.value) <= r.plan.memory_utilization * real(device.memory.value);
    return {std::move(change), fits, m.weights, target_seconds(r)};
  } catch (const Overflow&) {
    return {std::move(change), false, {}, {}};
  }
}

bool reaches(const Request& r, const Attempt& a) { return a.fits && a.time <= r.target->time; }

/// The reason why none of these attempts reaches the target.
std::string why_none(const std::vector<Attempt>& all) {
  const Attempt* fastest = nullptr;
  for (const Attempt& a : all)
    if (a.fits && (fastest == nullptr || a.time < fastest->time)) fastest = &a;
  if (fastest == nullptr) return fmt::format("does not fit, not even with {}", all.back().change);
  return fmt::format("{} takes {}{}", fastest->change, took(fastest->time), all.size() > 1 ? ", the least" : "");
}

/// A line that says why there is no answer, under a key of its own.
void add_none(Section& s, const char* key, const char* label, const std::string& why) {
  s.add("", label, std::string("none"), Unit::none, why);
  s.add(key, "", why);
}

void add_bandwidth(Section& s, const Request& r) {
  const auto time_at = [&](Count megabytes_per_s) {
    Request other = r;
    other.hardware->cluster.device.bandwidth = BytesPerSecond(megabyte * real(megabytes_per_s));
    return target_seconds(other);
  };
  const double now = r.hardware->cluster.device.bandwidth.value;
  const Count guess = std::max<Count>(1, static_cast<Count>(now / megabyte)), most = mul(guess, times_the_bandwidth);
  const std::optional<Count> least = first(
      most, [&](Count n) { return time_at(n) <= r.target->time; }, guess);
  if (!least)
    return add_none(s, "no_bandwidth", "memory bandwidth",
                    fmt::format("all else takes {}, however fast the memory is", took(time_at(most))));
  const double bandwidth = megabyte * real(*least);
  s.add("bandwidth_factor", "memory bandwidth", bandwidth / now, Unit::none,
        fmt::format("times the {:.0f} GB/s of the device: {:.0f} GB/s", now / 1e9, bandwidth / 1e9));
  s.add("memory_bytes_per_s", "", bandwidth);
}

Attempt with_sequences(const Request& r, Count batch) {
  Request other = r;
  other.plan = with_batch(r.plan, batch);
  return attempt(other, fmt::format("batch {}", batch));
}

void add_batch(Section& s, const Request& r) {
  const std::optional<Count> too_many = first(
      most_sequences, [&](Count n) { return !reaches(r, with_sequences(r, n)); }, r.plan.batch);
  const Count most = too_many.value_or(most_sequences + 1) - 1;
  if (most == 0) return add_none(s, "no_batch", "largest batch", why_none({with_sequences(r, 1)}));
  const Attempt a = with_sequences(r, most);
  const char* why = with_sequences(r, most + 1).fits ? "" : ", as many as fit";
  s.add("batch", "largest batch", most, Unit::sequences, fmt::format("{}{}", took(a.time), why));
}

/// Devices that the innermost links join; as many as there are heads where that is any number.
Count joined_devices(const Request& r) {
  const auto& levels = r.hardware->cluster.levels;
  if (levels.size() == 0 || levels[0].bandwidth.value <= 0) return 1;
  return levels[0].ranks > 0 ? levels[0].ranks : r.model.arch.heads;
}

/// 1, 2, 4, ... devices that divide the model, up to the first that reach the target.
std::vector<std::pair<Count, Attempt>> device_attempts(const Request& r) {
  std::vector<std::pair<Count, Attempt>> all;
  for (Count n = 1; n <= joined_devices(r); n *= 2) {
    Request other = r;
    give(other, *find_option("--tp"), fmt::format("{}", n));
    if (flaw(r.model.arch, other.layout) != LayoutFlaw::none) continue;
    all.emplace_back(n, attempt(other, fmt::format("--tp {}", n)));
    if (reaches(r, all.back().second)) break;
  }
  return all;
}

void add_devices(Section& s, const Request& r) {
  const auto all = device_attempts(r);
  if (!all.empty() && reaches(r, all.back().second)) {
    s.add("tp", "tensor parallel", all.back().first, Unit::none,
          fmt::format("{}, {}", all.back().first == 1 ? "device" : "devices", took(all.back().second.time)));
    return;
  }
  std::vector<Attempt> attempts;
  for (const auto& one : all) attempts.push_back(one.second);
  add_none(s, "no_tp", "tensor parallel",
           attempts.empty() ? "no number of devices inside one domain divides the model" : why_none(attempts));
}

void add_weights(Section& s, const Request& r, const Attempt& now) {
  std::vector<Attempt> all;
  for (const std::string_view format : narrower_formats) {
    Request other = r;
    give(other, *find_option("--weight-precision"), format);
    const Attempt a = attempt(other, fmt::format("--weight-precision {}", format));
    if (a.weights >= now.weights) continue;
    if (reaches(r, a))
      return s.add("weight_precision", "narrower weights", std::string(format), Unit::none, took(a.time));
    all.push_back(a);
  }
  add_none(s, "no_weight_precision", "narrower weights",
           all.empty() ? fmt::format("they are no wider than {}", narrower_formats.back()) : why_none(all));
}

std::string as_it_is(const Request& r, const Attempt& now) {
  const std::string speed = human_text(Quantity(1 / now.time.value), Unit::tokens_per_second);
  return fmt::format("{}{}{}", r.target->first_token ? "" : speed + ", ", took(now.time),
                     now.time <= r.target->time && !now.fits ? ", but does not fit" : "");
}

}  // namespace

Section target_section(const Request& r) {
  const bool first_token = r.target->first_token;
  const Attempt now = attempt(r, "the plan as it is");
  const bool reached = reaches(r, now);
  Section s{"target", "what reaches " + target_text(*r.target), {}};
  s.add(first_token ? "ttft_s" : "time_per_token_s", first_token ? "first token within" : "a token within",
        r.target->time);
  s.add("reached", "the plan as it is", reached, Unit::none, as_it_is(r, now));
  add_bandwidth(s, r);
  add_batch(s, r);
  add_devices(s, r);
  if (!reached) add_weights(s, r, now);
  return s;
}

namespace {

/// A number as an option takes it, or rounded where it is not whole.
std::string option_text(const Quantity& q) {
  const Count* whole = std::get_if<Count>(&q);
  return whole != nullptr ? fmt::format("{}", *whole) : human_text(q, Unit::none);
}

/// "1.62 times the memory bandwidth, --tp 2": the changes of which each reaches the target.
std::string enough(const Report& report) {
  std::string all;
  const auto add = [&](const char* key, const char* words) {
    const Row* row = report.row(fmt::format("target.{}", key));
    if (row == nullptr) return;
    all += all.empty() ? "" : ", ";
    all += fmt::format(fmt::runtime(words), option_text(row->value));
  };
  add("bandwidth_factor", "{} times the memory bandwidth");
  add("batch", "--batch {}");
  add("tp", "--tp {}");
  add("weight_precision", "--weight-precision {}");
  return all;
}

/// Whether a measurement may lie on the other side of the target than the estimate.
bool is_near(const Request& r) {
  const auto interval = interval_of(r, r.target->first_token ? InferenceClass::prefill : InferenceClass::decode);
  if (!interval) return false;
  const double times = target_seconds(r) / r.target->time;
  return times <= interval->factor && 1 / times <= interval->factor;
}

Finding target_finding(const Request& r, const Report& report) {
  const Row& reached = *report.row("target.reached");
  const bool yes = std::get<bool>(reached.value);
  std::string text = fmt::format("{} is {}: {}", target_text(*r.target), yes ? "reached" : "missed", reached.note);
  if (is_near(r)) text += ", near enough to turn out otherwise";
  if (yes) return {"target", text, false};
  const std::string changes = enough(report);
  return {"target", text + (changes.empty() ? "; no single change reaches it" : "; each reaches it: " + changes), true};
}

}  // namespace

void add_target(const Request& r, Report& report) {
  if (!r.target) return;
  report.sections.push_back(target_section(r));
  report.verdict.push_back(target_finding(r, report));
}

}  // namespace llmcalc
