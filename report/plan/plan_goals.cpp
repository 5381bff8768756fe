#include "report/plan/plan_goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/answer/measured_scale.hpp"
#include "calc/run.hpp"
#include "report/plan/plan_report.hpp"
#include "report/plan/planned.hpp"
#include "report/render/render.hpp"
#include "report/train/stages.hpp"
#include "report/train/training_sections.hpp"
#include "search/evaluate.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// Evaluates a plan; multiplies its times, and all values derived from them, by the measured scale.
Evaluated evaluated(const Request& r, const Space& space, const Candidate& c) {
  Evaluated e = evaluate(space, c);
  e.time = rescaled(r, e.time);
  e.found.step = rescale(r.run.measured_scale) * e.found.step;
  if (space.objective != Objective::memory) e.found.value *= rescale(r.run.measured_scale);
  return e;
}

/// The value of the objective with its unit. Tables have the step time in a separate column.
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

/// The part of the step in which plan b exceeds plan a by the most device-seconds.
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

/// Why plan b ranks after plan a, by the objective.
std::string why_behind(const Space& space, const Evaluated& a, const Evaluated& b) {
  const double more = b.found.value / a.found.value - 1;
  if (more <= 0) return "equal, but with more memory or GPUs";
  switch (space.objective) {
    case Objective::time: {
      const GrownPart most = most_grown(a.time, b.time);
      return fmt::format("{:.1f} % slower: {} +{}", 100 * more, part_label(most.part), seconds_text(most.by));
    }
    case Objective::cost:
      return fmt::format("{:.1f} % more expensive: {}", 100 * more, more_device_seconds(a, b));
    case Objective::energy:
      return fmt::format("{:.1f} % more energy: {}", 100 * more, more_device_seconds(a, b));
    case Objective::memory: {
      const GrownTerm most = most_grown(space, a, b);
      return fmt::format("{:.1f} % more memory: {} +{}", 100 * more,
                         memory_term_names[static_cast<std::size_t>(most.term)], bytes_text(most.by));
    }
  }
  return "";
}

std::string why_best(const Request& r, const Space& space) {
  constexpr std::array words{"the shortest step", "the cheapest step", "the lowest-energy step",
                             "the least memory per GPU"};
  constexpr std::array of_run{"the fastest run", "the cheapest run", "the lowest-energy run",
                              "the least memory per GPU"};
  return (r.run.tokens ? of_run : words)[static_cast<std::size_t>(space.objective)];
}

/// Ratio of a run's objective to a step's: the number of steps over --tokens; 1 without --tokens, or if the objective
/// is memory.
double times_of_run(const Request& r, const Space& space) {
  if (!r.run.tokens || space.objective == Objective::memory) return 1;
  return real(*r.run.tokens) / real(mul(space.plan.global_batch, space.plan.seq));
}

/// A plan as a row of JSON.
json::Value goal_json(const Request& r, const Space& space, const Evaluated& e, const std::string& why) {
  const Candidate& c = e.found.candidate;
  const Request one = request_of(r, space, c);
  json::Value v{{"layout", layout_json(one)},
                {"inputs", {{"micro_batch", c.micro_batch}, {"global_batch", one.plan.global_batch}}},
                {"step", {{"time_s", e.found.step.value}}},
                {"memory", {{"peak_bytes", e.found.peak.value}}},
                {"value", e.found.value},
                {"reasons", {why}},
                {"command", command_of(r, c)}};
  Report run;
  run.sections = {run_of(planned(r, space, c))};
  if (r.run.tokens) v["run"] = report_json(run)["run"];
  return v;
}

/// Adds a row for a number of GPUs; its last columns are the step time and `more`.
void add_row(Grid& g, const Request& r, const Space& space, const OfNumber& n, const std::string& why,
             const std::function<std::string(const Evaluated&)>& more) {
  std::vector<std::string> cells{fmt::format("{}", n.gpus), "-", why, "-"};
  json::Value row{{"gpus", n.gpus}, {"fits", false}, {"reasons", {why}}};
  if (!n.found.best.empty()) {
    const Evaluated e = evaluated(r, space, n.found.best[0].candidate);
    cells = {cells[0], degrees_text(e.found.candidate), why, seconds_text(e.found.step)};
    if (g.columns.size() > cells.size()) cells.push_back(more(e));
    row = goal_json(r, space, e, why);
    row["gpus"] = n.gpus;
    row["fits"] = true;
  }
  cells.resize(g.columns.size(), "-");
  g.rows.push_back(std::move(cells));
  g.json.push_back(std::move(row));
}

void add_number_row(Grid& g, const Request& r, const Space& space, const OfNumber& n, const OfNumber& best) {
  std::string why = nothing_fits(n.found);
  if (&n == &best)
    why = why_best(r, space);
  else if (!n.found.best.empty())
    why = why_behind(space, evaluated(r, space, best.found.best[0].candidate),
                     evaluated(r, space, n.found.best[0].candidate));
  add_row(g, r, space, n, why,
          [&](const Evaluated& e) { return value_text(space, e.found.value * times_of_run(r, space)); });
}

Grid numbers_grid(std::string last) {
  Grid g{
      .key = "numbers", .title = "GPU counts", .columns = {"GPUs", "best plan", "why", "step"}, .left = 3, .rows = {}};
  if (!last.empty()) g.columns.push_back(std::move(last));
  return g;
}

/// Days that a run over --tokens takes with a plan.
double days_of(const Request& r, const Space& space, const Found& f) {
  return days(run_time(space, f, real(*r.run.tokens) * rescale(r.run.measured_scale)));
}

/// Suggests more GPUs: "use --gpus 16".
std::string more_gpus_text(const Request& r, std::optional<Count> gpus) {
  if (!gpus) return "use more GPUs: a search of a few seconds found no sufficient count";
  return fmt::format("use {} {}", r.gave("--gpus") ? "--gpus" : "--max-gpus", *gpus);
}

}  // namespace

void refuse_too_few(const Request& r, const Space& space, std::optional<Count> gpus) {
  throw InputError(fmt::format("no plan on up to {} fits {}; {}", counted(space.gpus.back(), "GPU"), r.model.name,
                               more_gpus_text(r, gpus)));
}

void note_nothing_fits(Report& report, const Request& r, std::optional<Count> gpus) {
  if (gpus)
    report.verdict.push_back({"fits on", fmt::format("{}: {}", counted(*gpus, "GPU"), more_gpus_text(r, gpus))});
  else
    report.notes.insert(report.notes.begin(),
                        {"no_sufficient_gpus", "no sufficient GPU count was found in a few seconds"});
}

double deadline_of(const Request& r, const Space& space, std::string_view text) {
  if (!r.run.tokens) throw InputError("--deadline needs --tokens D, the number of tokens to train on");
  if (space.objective == Objective::memory)
    throw InputError("--deadline limits the time, but --objective memory prefers the slowest plans; omit one of them");
  return parse_positive_real(text, "--deadline");
}

bool in_time(const Request& r, const Space& space, const Found& f, double limit) {
  return days_of(r, space, f) <= limit;
}

Count fewest_in_time(const Request& r, const Space& space, double limit) {
  const double tokens = real(*r.run.tokens) * rescale(r.run.measured_scale);
  const double one = days(tokens / real(mul(space.plan.global_batch, space.plan.seq)) * least_device_seconds(space));
  return std::max<Count>(1, static_cast<Count>(std::min(std::floor(one / limit), 1e9)));
}

double FastestRun::gpus_at_that_speed(double limit) const {
  return std::ceil(static_cast<double>(found.candidate.gpus) * days / limit);
}

std::optional<FastestRun> fastest_run(const Request& r, const Space& space, const FewestGpus& few) {
  const Found* fastest = nullptr;
  for (const OfNumber& n : few.tried)
    if (!n.found.best.empty() && (fastest == nullptr || n.found.best[0].step < fastest->step))
      fastest = &n.found.best[0];
  if (fastest == nullptr) return std::nullopt;
  return FastestRun{*fastest, days_of(r, space, *fastest)};
}

void refuse_deadline(const Request& r, const FewestGpus& few, const FastestRun& fastest, double limit,
                     std::optional<Count> gpus) {
  const std::string more =
      gpus ? fmt::format("{} {}", r.gave("--gpus") ? "--gpus" : "--max-gpus", *gpus)
           : fmt::format("about {:.0f} GPUs at the same speed per GPU", fastest.gpus_at_that_speed(limit));
  throw InputError(
      fmt::format("no plan on up to {} trains {} tokens in {:g} days; the fastest takes {:.1f} days on {} GPUs: use "
                  "--deadline {:.0f} or {}",
                  counted(few.tried.back().gpus, "GPU"), count_text(*r.run.tokens), limit, fastest.days,
                  fastest.found.candidate.gpus, std::ceil(fastest.days), more));
}

namespace {

/// The answer, up to ten tried numbers of GPUs below it, and all tried numbers above it.
std::span<const OfNumber> nearest(const FewestGpus& few) {
  const std::span<const OfNumber> all = few.tried;
  std::size_t at = 0;
  while (all[at].gpus < few.found->candidate.gpus) ++at;
  return all.subspan(at > 10 ? at - 10 : 0);
}

}  // namespace

void add_deadline(Report& report, const Request& r, const Space& space, const FewestGpus& few, double limit) {
  report.inputs["max_gpus"] = few.tried.back().gpus;
  report.inputs["deadline"] = limit;
  if (!few.found) {
    report.verdict.insert(
        report.verdict.begin(),
        {"GPUs", "stopped before a GPU count that meets the deadline was found; this is the last count tried", true});
    return;
  }
  const Found& best = *few.found;
  std::string beside;
  Grid g = numbers_grid("days");
  for (const OfNumber& n : nearest(few)) {
    const bool chosen = n.gpus == best.candidate.gpus;
    const double needed = n.found.best.empty() ? 0 : days_of(r, space, n.found.best[0]);
    const std::string why = n.found.best.empty() ? nothing_fits(n.found)
                            : chosen             ? "the fewest that meet the deadline"
                            : needed > limit     ? "too slow"
                                                 : "in time, with more GPUs";
    add_row(g, r, space, n, why, [&](const Evaluated&) { return fmt::format("{:.4g}", needed); });
    if (n.gpus < best.candidate.gpus)
      beside = fmt::format("; {}: {}", n.gpus, n.found.best.empty() ? why : fmt::format("{:.1f} days", needed));
  }
  const double needed = days_of(r, space, best);
  report.verdict.insert(report.verdict.begin(),
                        {"GPUs", fmt::format("{}, the fewest that train {} tokens in {:g} days: {:.1f} days{}",
                                             best.candidate.gpus, count_text(*r.run.tokens), limit, needed, beside)});
  report.grids.insert(report.grids.begin() + 1, std::move(g));
}

void add_numbers(Report& report, const Request& r, const Space& space, std::span<const OfNumber> numbers) {
  report.inputs["max_gpus"] = space.gpus.back();
  const auto best = std::find_if(numbers.begin(), numbers.end(), [&](const OfNumber& n) { return n.gpus == *r.gpus; });
  if (best == numbers.end() || best->found.best.empty()) return;
  const char* until = numbers.back().found.stopped ? ", among those searched" : "";
  report.verdict.insert(report.verdict.begin(), {"GPUs", fmt::format("{} of up to {}: {}{}", best->gpus,
                                                                     space.gpus.back(), why_best(r, space), until)});
  Grid g = numbers_grid(space.objective == Objective::time ? "" : std::string(name(space.objective)));
  for (const OfNumber& n : numbers) add_number_row(g, r, space, n, *best);
  report.grids.insert(report.grids.begin() + 1, std::move(g));
}

}  // namespace llmcalc
