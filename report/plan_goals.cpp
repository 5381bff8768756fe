#include "report/plan_goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calc/run.hpp"
#include "report/measured_scale.hpp"
#include "report/plan_report.hpp"
#include "report/sections.hpp"
#include "report/stages.hpp"
#include "search/evaluate.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

std::string seconds_text(Seconds t) { return human_text(Quantity(t.value), Unit::seconds); }
std::string bytes_text(Bytes b) { return human_text(Quantity(b.value), Unit::bytes); }

/// A plan's evaluation, its times and what follows from them multiplied by the measured scale.
Evaluated evaluated(const Request& r, const Space& space, const Candidate& c) {
  Evaluated e = evaluate(space, c);
  e.time = rescaled(r, e.time);
  e.found.step = r.run.measured_scale * e.found.step;
  if (space.objective != Objective::memory) e.found.value *= r.run.measured_scale;
  return e;
}

/// What the objective is worth, in the words of its unit; a step's time is in every table anyway.
std::string value_text(const Space& space, double value) {
  switch (space.objective) {
    case Objective::time:
      return human_text(Quantity(value), Unit::seconds);
    case Objective::cost:
      return fmt::format("{:.4g} USD", value);
    case Objective::energy:
      return fmt::format("{:.4g} kWh", value / 3.6e6);
    case Objective::memory:
      return human_text(Quantity(static_cast<Count>(value)), Unit::bytes);
  }
  return "";
}

/// The part of the step on which plan b spends more device-seconds than a.
std::string more_device_seconds(const Evaluated& a, const Evaluated& b) {
  Part most{};
  double by = 0;
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto p = static_cast<Part>(i);
    const double more = static_cast<double>(b.found.candidate.gpus) * b.time[p].value -
                        static_cast<double>(a.found.candidate.gpus) * a.time[p].value;
    if (more > by) {
      most = p;
      by = more;
    }
  }
  return fmt::format("{} +{:.3g} GPU-s", part_label(most), by);
}

/// Why plan b is behind a, by the objective.
std::string why_behind(const Space& space, const Evaluated& a, const Evaluated& b) {
  const double more = b.found.value / a.found.value - 1;
  if (more <= 0) return "as good, with more memory or GPUs";
  switch (space.objective) {
    case Objective::time: {
      const GrownPart most = most_grown(a.time, b.time);
      return fmt::format("{:.1f} % slower: {} +{}", 100 * more, part_label(most.part), seconds_text(most.by));
    }
    case Objective::cost:
      return fmt::format("{:.1f} % dearer: {}", 100 * more, more_device_seconds(a, b));
    case Objective::energy:
      return fmt::format("{:.1f} % more energy: {}", 100 * more, more_device_seconds(a, b));
    case Objective::memory: {
      const GrownTerm most = most_grown(a.memory, b.memory);
      return fmt::format("{:.1f} % more memory: {} +{}", 100 * more,
                         memory_term_names[static_cast<std::size_t>(most.term)], bytes_text(most.by));
    }
  }
  return "";
}

std::string why_best(const Space& space) {
  constexpr std::array words{"the shortest step", "the cheapest step", "the step of least energy",
                             "the least memory of a GPU"};
  return words[static_cast<std::size_t>(space.objective)];
}

/// A plan as a row of JSON.
json::Value goal_json(const Request& r, const Space& space, const Evaluated& e, const std::string& why) {
  const Candidate& c = e.found.candidate;
  const Request one = request_of(r, space, c);
  return {{"layout", layout_json(one)},
          {"inputs", {{"micro_batch", c.micro_batch}, {"global_batch", one.plan.global_batch}}},
          {"step", {{"time_s", e.found.step.value}}},
          {"memory", {{"peak_bytes", e.found.peak.value}}},
          {"value", e.found.value},
          {"reasons", {why}},
          {"command", command_of(r, c)}};
}

/// A search that was stopped cannot say that no plan fits.
std::string nothing_fits(const SearchResult& found) {
  return found.stopped ? "stopped before a plan was found" : "no plan fits";
}

void add_number_row(Grid& g, const Request& r, const Space& space, const OfNumber& n, const OfNumber& best) {
  const std::string number = fmt::format("{}", n.gpus);
  if (n.found.best.empty()) {
    const std::string why = nothing_fits(n.found);
    g.rows.push_back({number, "-", why, "-"});
    if (g.columns.size() > g.rows.back().size()) g.rows.back().push_back("-");
    g.json.push_back({{"gpus", n.gpus}, {"fits", false}, {"reasons", {why}}});
    return;
  }
  const Evaluated e = evaluated(r, space, n.found.best[0].candidate);
  const std::string why =
      &n == &best ? why_best(space) : why_behind(space, evaluated(r, space, best.found.best[0].candidate), e);
  g.rows.push_back({number, degrees_text(e.found.candidate), why, seconds_text(e.found.step)});
  if (g.columns.size() > g.rows.back().size()) g.rows.back().push_back(value_text(space, e.found.value));
  json::Value row = goal_json(r, space, e, why);
  row["gpus"] = n.gpus;
  row["fits"] = true;
  g.json.push_back(std::move(row));
}

}  // namespace

void require_plan(const Request& r, const Space& space, const SearchResult& found) {
  if (!found.best.empty() || found.stopped) return;
  throw InputError(fmt::format("no plan on up to {} GPUs holds {}; give more GPUs", space.gpus.back(), r.model.name));
}

void add_numbers(Report& report, const Request& r, const Space& space, std::span<const OfNumber> numbers) {
  report.inputs["max_gpus"] = space.gpus.back();
  const auto best = std::find_if(numbers.begin(), numbers.end(), [&](const OfNumber& n) { return n.gpus == *r.gpus; });
  if (best == numbers.end() || best->found.best.empty()) return;
  const char* until = numbers.back().found.stopped ? ", of those that were searched" : "";
  report.inputs["gpus"] = best->gpus;
  report.verdict.insert(report.verdict.begin(), {"GPUs", fmt::format("{} of up to {}: {}{}", best->gpus,
                                                                     space.gpus.back(), why_best(space), until)});
  Grid g{.key = "numbers",
         .title = "numbers of GPUs",
         .columns = {"GPUs", "best plan", "why", "step"},
         .left = 3,
         .rows = {}};
  if (space.objective != Objective::time) g.columns.emplace_back(name(space.objective));
  for (const OfNumber& n : numbers) add_number_row(g, r, space, n, *best);
  report.grids.insert(report.grids.begin() + 1, std::move(g));
}

}  // namespace llmcalc
