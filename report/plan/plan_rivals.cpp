#include "report/plan/plan_rivals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ask/answer/interval.hpp"
#include "ask/request/request.hpp"
#include "calc/run.hpp"
#include "presets/load.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/plan/plan_report.hpp"
#include "report/plan/planned.hpp"
#include "report/report.hpp"
#include "report/train/stages.hpp"
#include "report/train/training_sections.hpp"
#include "search/evaluate.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// A rival's offer as a whole run.
struct RunOf {
  Seconds time;
  double hours = 0, cost = 0, kwh = 0;
};
RunOf run_of(const Rival& r, const Found& f) {
  const Seconds time = run_time(r.space, f, real(*r.request.run.tokens));
  const double hours = device_hours(f.candidate.gpus, time);
  return {time, hours, cost(hours, r.space.price_per_hour), energy_kwh(hours, r.space.watts, 1)};
}

std::string days_text(Seconds t) { return fmt::format("{:.4g}", days(t)); }

bool has_price(const Rival& r) { return !r.request.hardware->prices.empty(); }

bool is_compared(const Rival& r) { return r.left_out.empty(); }

/// " at the slow end of its interval (x 1.56, no published run)"; empty for a device with published runs.
std::string caution_text(const Rival& r) {
  return r.caution > 1 ? fmt::format(" at the slow end of its interval (x {:.3g}, no published run)", r.caution) : "";
}

/// Factors a rival's excess cost into the ratio of GPU-hours and the ratio of price or power.
std::string why_dearer(const Rival& best, const Rival& r) {
  const RunOf a = run_of(best, *best.offer.best), b = run_of(r, *r.offer.best);
  const bool energy = r.space.objective == Objective::energy;
  const double rate = energy ? r.space.watts / best.space.watts : r.space.price_per_hour / best.space.price_per_hour;
  return fmt::format("{:.1f} % {}{}: {:.2f} x the GPU-hours at {:.2f} x the {}", 100 * (r.value() / best.value() - 1),
                     energy ? "more energy" : "more expensive", caution_text(r), b.hours / a.hours, rate,
                     energy ? "power" : "price");
}

std::string why_slower(const Rival& best, const Rival& r) {
  const Evaluated a = evaluate(best.space, best.offer.best->candidate), b = evaluate(r.space, r.offer.best->candidate);
  const GrownPart most = most_grown(a.time, b.time);
  return fmt::format("{:.1f} % slower{}: {} +{}", 100 * (r.value() / best.value() - 1), caution_text(r),
                     part_label(most.part), seconds_text(most.by));
}

std::string why_first(const Rival& best, bool in_time) {
  const std::string end = in_time ? " that meets the deadline" : "";
  if (best.space.objective == Objective::time) return "the fastest run" + end;
  return (best.space.objective == Objective::energy ? "the lowest-energy run" : "the cheapest run") + end;
}

std::string why_rival(const Rival& best, const Rival& r, std::optional<double> limit) {
  if (&r == &best) return why_first(best, limit.has_value());
  if (!r.offer.fastest) return r.offer.stopped ? "stopped before a plan was found" : "no plan fits";
  if (!r.offer.best) {
    const double best_days = r.caution * days(run_of(r, *r.offer.fastest).time);
    return fmt::format("too slow: {:.1f} days at best{}", best_days, caution_text(r));
  }
  if (r.value() <= best.value()) return "equal; listed later";
  return r.space.objective == Objective::time ? why_slower(best, r) : why_dearer(best, r);
}

/// Rivals sorted by value, followed by offers that are too slow (fastest first) and hardware without a plan.
std::vector<const Rival*> in_order(std::span<const Rival> rivals, const Rival& best) {
  std::vector<const Rival*> all;
  for (const Rival& r : rivals)
    if (is_compared(r)) all.push_back(&r);
  const auto rank = [&](const Rival* r) {
    const int kind = r == &best ? 0 : r->offer.best ? 1 : r->offer.fastest ? 2 : 3;
    return std::pair(kind, kind == 3 ? 0 : r->offer.best ? r->value() : r->offer.fastest->step.value);
  };
  std::stable_sort(all.begin(), all.end(), [&](const Rival* a, const Rival* b) { return rank(a) < rank(b); });
  return all;
}

json::Value rival_json(const Rival& r, const Found& f, const std::string& why) {
  const RunOf run = run_of(r, f);
  const Request one = request_of(r.request, r.space, f.candidate);
  json::Value v{{"hardware", r.name},
                {"gpus", f.candidate.gpus},
                {"fits", true},
                {"in_time", r.offer.best.has_value()},
                {"layout", layout_json(one)},
                {"inputs", {{"micro_batch", f.candidate.micro_batch}, {"precision", r.request.plan.precision.name()}}},
                {"step", {{"time_s", f.step.value}}},
                {"memory", {{"peak_bytes", f.peak.value}}},
                {"run", {{"days", days(run.time)}, {"gpu_hours", run.hours}}},
                {"reasons", {why}},
                {"command", command_of(r.request, f.candidate)}};
  if (has_price(r)) v["run"]["cost_usd"] = run.cost;
  if (has_price(r)) v["price_usd_per_hour"] = r.space.price_per_hour;
  if (r.space.objective == Objective::energy) v["run"]["energy_kwh"] = run.kwh;
  return v;
}

void add_rival_row(Grid& g, const Rival& r, const std::string& why) {
  const std::optional<Found>& f = r.offer.best ? r.offer.best : r.offer.fastest;
  std::vector<std::string> row{r.name, f ? degrees_text(f->candidate) : "-"};
  row.resize(g.columns.size(), "-");
  if (f) {
    const RunOf run = run_of(r, *f);
    row[2] = fmt::format("{}", f->candidate.gpus);
    row[3] = seconds_text(f->step);
    row[4] = days_text(run.time);
    if (has_price(r)) row[5] = human_text(Quantity(run.cost), Unit::dollars);
    if (row.size() > 6) row[6] = fmt::format("{:.4g}", run.kwh);
    g.json.push_back(rival_json(r, *f, why));
  } else {
    g.json.push_back({{"hardware", r.name}, {"fits", false}, {"reasons", {why}}});
  }
  g.rows.push_back(std::move(row));
}

constexpr std::string_view no_price = "price unknown";

/// The reason in a form common to all hardware: without the name and the suggestion.
std::string reason_text(const Rival& r) {
  const std::string reason = r.left_out.substr(0, r.left_out.find(';'));
  return reason.starts_with(r.name + " ") ? reason.substr(r.name.size() + 1) : reason;
}

/// Adds the excluded hardware, by reason: "omitted: price unknown: a10, a30, a40 and 70 more; ...".
void add_left_out(Report& report, std::span<const Rival> rivals) {
  Grid g{.key = "left_out", .title = "", .columns = {}, .rows = {}};
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Rival& r : rivals) {
    if (is_compared(r)) continue;
    by_reason[reason_text(r)].push_back(r.name);
    g.json.push_back({{"hardware", r.name}, {"reasons", {r.left_out}}});
  }
  constexpr std::size_t shown = 6;
  std::vector<std::string> parts;
  for (auto& [reason, names] : by_reason) {
    const std::size_t more = names.size() > shown ? names.size() - shown : 0;
    names.resize(names.size() - more);
    parts.push_back(
        fmt::format("{}: {}{}", reason, fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  if (!parts.empty()) report.notes.push_back({"omitted_hardware", fmt::format("omitted: {}", fmt::join(parts, "; "))});
  report.grids.push_back(std::move(g));
}

/// Adds notes on differences that make times of different hardware less comparable.
void add_rival_notes(Report& report, std::span<const Rival> rivals) {
  report.notes.push_back(
      {"first_prices", "prices are the first in each preset; 'llmcalc show HW' shows their sources"});
  std::map<std::string, int> precisions, how;
  for (const Rival& r : rivals) {
    if (!is_compared(r)) continue;
    ++precisions[std::string(r.request.plan.precision.name())];
    if (!r.request.software) ++how[r.request.hardware->measured ? "measured" : "bound"];
  }
  if (precisions.size() > 1)
    report.notes.push_back(
        {"precision_by_device",
         "each device computes in the first of bf16, fp16, fp32 that it supports; --precision overrides it"});
  if (how.size() > 1)
    report.notes.push_back(
        {"measured_and_bound",
         "some devices have measured rates and others only a datasheet; times of the latter are lower bounds"});
}

[[noreturn]] void refuse_rivals(std::span<const Rival> rivals, std::optional<double> limit) {
  const Rival *fastest = nullptr, *first = nullptr;
  for (const Rival& r : rivals) {
    if (first == nullptr && is_compared(r)) first = &r;
    if (r.offer.fastest && (fastest == nullptr || r.offer.fastest->step < fastest->offer.fastest->step)) fastest = &r;
  }
  if (first == nullptr) {  // a mistake in the question is more informative than an unknown price
    const auto said = std::find_if(rivals.begin(), rivals.end(), [](const Rival& r) { return r.left_out != no_price; });
    const Rival& r = said == rivals.end() ? rivals[0] : *said;
    throw InputError(fmt::format("--hardware: no device can be compared; {}: {}", r.name, r.left_out));
  }
  const Count most = first->space.gpus.back();
  if (fastest == nullptr)
    throw InputError(fmt::format("no plan on up to {} of this hardware fits {}; use more GPUs", counted(most, "GPU"),
                                 first->request.model.name));
  const double needed = days(run_of(*fastest, *fastest->offer.fastest).time);
  throw InputError(
      fmt::format("no plan on up to {} of this hardware trains {} tokens in {:g} days; the fastest, on {}, takes "
                  "{:.1f} days: use --deadline {:.0f} or more GPUs",
                  counted(most, "GPU"), count_text(*fastest->request.run.tokens), *limit, fastest->name, needed,
                  std::ceil(needed)));
}

}  // namespace

std::vector<std::string> hardware_names(std::string_view text) {
  std::vector<std::string> all;
  if (same_spelling(text, "any")) {
    for (const Builtin& b : builtin_hardware()) all.emplace_back(b.name);
    return all;
  }
  if (text.find(',') == std::string_view::npos) return all;
  std::vector<std::pair<std::string, std::string>> cards;  // each card once, under one of its names
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string one(rest.substr(0, comma));
    if (one.empty())
      throw InputError("--hardware: a name in the list is empty; expected comma-separated names, or 'any'");
    const HardwareCard card = load_hardware(one);
    if (const std::pair known(card.name, card.source); std::find(cards.begin(), cards.end(), known) == cards.end()) {
      cards.push_back(known);
      all.push_back(one);
    }
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

std::string why_left_out(const HardwareCard& h, Objective objective) {
  return objective == Objective::cost && h.prices.empty() ? std::string(no_price) : "";
}

std::string why_left_out(const Request& r, const Space& space) {
  if (space.objective == Objective::energy && r.hardware->watts <= 0 && !r.run.watts) return "power unknown";
  if (joined_numbers(space).empty()) return fmt::format("no link connects {}", counted(space.gpus.back(), "GPU"));
  return "";
}

const Rival* best_rival(std::span<const Rival> rivals, std::optional<double> limit) {
  const Rival* best = nullptr;
  bool stopped = false;
  for (const Rival& r : rivals) {
    stopped = stopped || r.offer.stopped;
    if (r.offer.best && (best == nullptr || r.value() < best->value())) best = &r;
  }
  if (best == nullptr && !stopped) refuse_rivals(rivals, limit);
  return best;
}

void add_rivals(Report& report, std::span<const Rival> rivals, const Rival& best, std::optional<double> limit) {
  const Found& f = *best.offer.best;
  const RunOf run = run_of(best, f);
  const bool stopped = std::any_of(rivals.begin(), rivals.end(), [](const Rival& r) { return r.offer.stopped; });
  report.inputs["max_gpus"] = best.space.gpus.back();
  if (limit) report.inputs["deadline"] = *limit;
  report.verdict.insert(
      report.verdict.begin(),
      {"hardware",
       fmt::format("{} x {}: {}{}, {} days{}", f.candidate.gpus, best.name, why_first(best, limit.has_value()),
                   stopped ? " among those searched" : "", days_text(run.time),
                   has_price(best) ? ", " + human_text(Quantity(run.cost), Unit::dollars) : "")});
  if (!stands_on_runs(training_estimator(), *best.request.hardware))
    report.verdict.insert(
        report.verdict.begin() + 1,
        {"unmeasured", fmt::format("no published training run on {}{}", best.name,
                                   best.caution > 1 ? "; counted at the slow end of its interval" : "")});
  Grid g{.key = "rivals",
         .title = "hardware",
         .columns = {"hardware", "best layout", "GPUs", "step", "days", "cost"},
         .left = 2,
         .rows = {}};
  if (best.space.objective == Objective::energy) g.columns.emplace_back("kWh");
  Grid reasons{.key = "", .title = "why", .columns = {"hardware", "why"}, .left = 2, .rows = {}};
  for (const Rival* r : in_order(rivals, best)) {
    const std::string why = why_rival(best, *r, limit);
    add_rival_row(g, *r, why);
    reasons.rows.push_back({r->name, why});
  }
  report.grids.insert(report.grids.begin(), {std::move(g), std::move(reasons)});
  add_left_out(report, rivals);
  add_rival_notes(report, rivals);
}

}  // namespace llmcalc
