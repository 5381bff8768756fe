#include "report/plan/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ask/answer/fit.hpp"
#include "ask/answer/interval.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/options/options.hpp"
#include "calc/run.hpp"
#include "report/brief/brief.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/plan/planned.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "report/train/host_notes.hpp"
#include "report/train/measured_notes.hpp"
#include "report/train/process_section.hpp"
#include "report/train/stages.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"
#include "search/neighbours.hpp"
#include "search/reverse.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// The recomputation, in the syntax of --recompute.
std::string recompute_text(const Request& r, const Candidate& c) {
  Plan p = r.plan;
  recompute_as(p, c);
  return recomputation_text(p);
}

/// Reason for a plan's rank.
std::string reason(const TrainingAnswer& p, const TrainingAnswer& best, std::size_t place) {
  if (place == 0) return "the best plan that fits";
  const double time = p.estimate().estimate.total() / best.estimate().estimate.total() - 1;
  if (time <= 0) return "at least as fast as the best, but ranked lower by the objective";
  const GrownPart most = most_grown(best.estimate().estimate, p.estimate().estimate);
  return fmt::format("{:.1f} % slower: {} +{}", 100 * time, part_label(most.part), seconds_text(most.by));
}

json::Value plan_json(const TrainingAnswer& p, const std::string& why, const std::string& command) {
  Report r;
  r.sections = {step_section(p), training_memory_section(p), process_section(p), run_of(p)};
  const json::Value all = report_json(r);
  json::Value v{
      {"layout", layout_json(p.request())},
      {"inputs", {{"micro_batch", p.request().plan.micro_batch}, {"recompute", recomputation_text(p.request().plan)}}},
      {"step", all["step"]},
      {"memory", all["memory"]},
      {"reasons", {why}},
      {"command", command}};
  if (all.contains("run")) v["run"] = all["run"];
  return v;
}

Grid plans_grid(const Request& r, const Space& space, std::span<const Found> all, const char* key, const char* title) {
  Grid g{.key = key,
         .title = title,
         .columns = {"plan", "settings", "step", "MFU", "peak"},
         .left = 2,
         .spare = {"MFU"},
         .rows = {}};
  if (has_process_estimate(r)) g.columns.push_back("process");
  if (space.gpus.size() > 1) g.columns.push_back("GPUs");
  std::optional<TrainingAnswer> best;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TrainingAnswer p = planned(r, space, all[i].candidate);
    if (!best) best = p;
    const StepTime& t = p.estimate().estimate;
    g.rows.push_back({degrees_text(all[i].candidate), run_text(r, all[i].candidate), seconds_text(t.total()),
                      human_text(Quantity(model_utilization(p.estimate(), t, p.request().plan, p.request().layout,
                                                            r.hardware->cluster.device)),
                                 Unit::ratio),
                      bytes_text(p.estimate().memory.peak)});
    if (p.process()) g.rows.back().push_back(human_text(Quantity(needed(p.process()->fullest()).value), Unit::bytes));
    if (space.gpus.size() > 1) g.rows.back().push_back(fmt::format("{}", all[i].candidate.gpus));
    g.json.push_back(plan_json(p, reason(p, *best, i), command_of(r, all[i].candidate)));
  }
  if (all.empty()) g.columns = {};
  return g;
}

std::string grown_text(const GrownTerm& t) {
  return fmt::format("{} +{}", memory_term_names[static_cast<std::size_t>(t.term)], bytes_text(t.by));
}

/// The limit that a plan exceeds, and the excess: "exceeds memory by 1.2 GiB"; in a pipeline "stage 1 exceeds memory by
/// 1.2 GiB"; for host memory "host memory is exceeded by 1.2 GiB".
std::string too_large_text(const Neighbor& n) {
  const std::string over = bytes_text(n.over);
  if (n.on_host) return fmt::format("host memory is exceeded by {}", over);
  return n.plan.found.candidate.pp == 1 ? "exceeds memory by " + over
                                        : fmt::format("stage {} exceeds memory by {}", n.plan.fullest + 1, over);
}

/// Why a plan ranks below a smaller plan that is slower by less than 1 %: "0.4 % faster, but needs 2.1 GiB more".
std::string near_tie_text(const Neighbor& n, const Space& space, const Found& best) {
  const Candidate& c = n.plan.found.candidate;
  if (space.process_fits && !space.process_fits(space, c, n.plan.found.peak))
    return "the process is expected to exceed the device memory";
  const double faster = -n.slower.value / best.step.value;
  const Bytes more = n.plan.found.peak - best.peak;
  if (faster <= 0 || more <= Bytes()) return "no worse";
  return fmt::format("{:.1f} % faster, but needs {} more", 100 * faster, bytes_text(more));
}

/// Why a neighbor of the best plan lost.
std::string why_lost(const Neighbor& n, const Space& space, const Found& best) {
  switch (n.verdict) {
    case Verdict::impossible:
      return "impossible";
    case Verdict::too_large:
      return n.on_host ? too_large_text(n) : fmt::format("{}: {}", too_large_text(n), grown_text(n.term));
    case Verdict::slower:
      return fmt::format("{} slower: {} +{}", seconds_text(n.slower), part_label(n.part.part), seconds_text(n.part.by));
    case Verdict::larger:
      return fmt::format("needs {} more: {}", bytes_text(n.over), grown_text(n.term));
    case Verdict::no_worse:
      return near_tie_text(n, space, best);
  }
  return "";
}

/// The changed setting of a neighbor: "tp 8", "recompute full".
std::string change_text(const Request& r, const Neighbor& n) {
  const Candidate& c = n.plan.found.candidate;
  switch (n.change) {
    case PlanChange::tp:
      return fmt::format("tp {}", c.tp);
    case PlanChange::sp:
      return c.sp ? "sp" : "no sp";
    case PlanChange::cp:
      return fmt::format("cp {}", c.cp);
    case PlanChange::ep:
      return fmt::format("ep {}", c.ep);
    case PlanChange::pp:
      return fmt::format("pp {}", c.pp);
    case PlanChange::chunks:
      return fmt::format("{} chunks", c.chunks);
    case PlanChange::micro_batch:
      return fmt::format("micro-batch {}", c.micro_batch);
    case PlanChange::recompute:
      return "recompute " + recompute_text(r, c);
    case PlanChange::zero:
      return fmt::format("ZeRO {}", static_cast<int>(c.zero));
    case PlanChange::schedule:
      return std::string(name(c.schedule));
  }
  return "";
}

Grid neighbors_grid(const Request& r, const Space& space, const Found& best) {
  Grid g{.key = "neighbours",
         .title = "the best plan with one change",
         .columns = {"change", "why not"},
         .left = 2,
         .rows = {}};
  for (Neighbor n : neighbors(space, best.candidate)) {
    for (Seconds* t : {&n.slower, &n.part.by, &n.plan.found.step}) *t = rescale(r.run.measured_scale) * *t;
    if (n.verdict == Verdict::impossible) continue;
    const Candidate& c = n.plan.found.candidate;
    const std::string why = why_lost(n, space, best);
    g.rows.push_back({change_text(r, n), why});
    json::Value row{{"change", std::string(change_names[static_cast<std::size_t>(n.change)])},
                    {"layout", layout_json(request_of(r, space, c))},
                    {"inputs", {{"micro_batch", c.micro_batch}, {"recompute", recompute_text(r, c)}}},
                    {"reasons", {why}},
                    {"command", command_of(r, c)}};
    row["step"] = {{"time_s", n.plan.found.step.value}};
    row["memory"] = {{"peak_bytes", n.plan.found.peak.value}};
    g.json.push_back(std::move(row));
  }
  return g;
}

Grid searched_grid(const Space& space, const SearchResult& found) {
  Grid g{.key = "searched", .title = "", .columns = {}, .rows = {}};
  g.json = json::Value::object();
  g.json["candidates"] = found.counts.candidates;
  g.json["fit"] = found.counts.fit;
  g.json["too_large"] = found.counts.too_large;
  g.json["impossible"] = found.counts.impossible;
  g.json["stopped"] = found.stopped;
  g.json["not_searched"] = json::Value::array();
  for (const std::string_view s : not_searched(space)) g.json["not_searched"].push_back(std::string(s));
  return g;
}

/// The interval of the step time: " (4.9 to 7.6 s)".
std::string step_interval(const TrainingAnswer& p) {
  const auto interval = p.interval();
  if (!interval) return "";
  return fmt::format(" ({})", interval_text(*interval, p.estimate().estimate.total().value, Unit::seconds));
}

/// The extent of a search: "81,696 plans: 62,004 fit, 3,244 do not, 16,448 are impossible".
std::string searched_text(const SearchResult& found) {
  const auto number = [](auto n) { return grouped_digits(fmt::format("{}", n)); };
  return fmt::format("{} plans: {} fit, {} do not, {} are impossible{}", number(found.counts.candidates),
                     number(found.counts.fit), number(found.counts.too_large), number(found.counts.impossible),
                     found.stopped ? "; stopped early" : "");
}

void add_verdict(Report& report, const Request& r, const Space& space, const SearchResult& found) {
  if (found.best.empty()) {
    report.verdict = {{"best", "none: " + nothing_fits(found), true}};
    if (!found.stopped) report.fit = Fit{};
    return;
  }
  const Found& f = found.best[0];
  const TrainingAnswer p = planned(r, space, f.candidate);
  const StepTime& t = p.estimate().estimate;
  report.verdict = {{"best", fmt::format("{}; {}", degrees_text(f.candidate), run_text(r, f.candidate))},
                    {p.estimate().estimated ? "time" : "at best",
                     fmt::format("{} per step{}, {} MFU, {}", seconds_text(t.total()), step_interval(p),
                                 human_text(Quantity(model_utilization(p.estimate(), t, p.request().plan,
                                                                       p.request().layout, r.hardware->cluster.device)),
                                            Unit::ratio),
                                 human_text(Quantity(tokens_per_second(p.estimate(), t)), Unit::tokens_per_second))}};
  add_training_fit(p, report);
  if (const Bytes host = p.estimate().host; host != Bytes())
    report.verdict.push_back(
        {"on the host", fmt::format("{} per GPU: {}", bytes_text(host), offload_text(p.request().plan.offload))});
  if (const std::string run = whole_run_text(p); !run.empty()) report.verdict.push_back({"run", run});
  report.verdict.push_back({"command", command_of(r, f.candidate)});
  if (r.run.measured_scale != 1) note_beyond_device(p.request(), tokens_per_second(p.estimate(), t), report);
  add_note(report.notes, host_updates_note(p.request()));
  add_note(report.notes, host_memory_note(p.request(), p.estimate().host));
}

/// Adds the estimate's parameters and interval for the best plan.
void add_estimate(Report& report, const TrainingAnswer& p) {
  if (!p.request().software) return;
  report.sections.push_back(estimate_section(without_measured(p)));
  note_wider_training(p.request(), report);
}

/// The run of the best plan, for JSON; text has it in the verdict.
Grid run_grid(const Request& r, const Space& space, const Found& best) {
  Report run;
  run.sections = {run_of(planned(r, space, best.candidate))};
  return {.key = "run", .title = "", .columns = {}, .rows = {}, .json = report_json(run)["run"]};
}

}  // namespace

std::string degrees_text(const Candidate& c) {
  std::string s;
  const auto add = [&](const std::string& part) { s += (s.empty() ? "" : ", ") + part; };
  if (c.tp > 1) add(fmt::format("tp {}{}", c.tp, c.sp ? " sp" : ""));
  if (c.cp > 1) add(fmt::format("cp {}", c.cp));
  if (c.ep > 1) add(fmt::format("ep {}", c.ep));
  if (c.pp > 1) add(c.chunks > 1 ? fmt::format("pp {} x {}", c.pp, c.chunks) : fmt::format("pp {}", c.pp));
  if (c.dp > 1) add(fmt::format("dp {}", c.dp));
  if (c.zero != Zero::none) add(fmt::format("ZeRO {}", static_cast<int>(c.zero)));
  return s.empty() ? "one GPU" : s;
}

std::string run_text(const Request& r, const Candidate& c) {
  std::string s = fmt::format("micro-batch {}", c.micro_batch);
  if (c.pp > 1) s += fmt::format(", {}", name(c.schedule));
  if (c.recompute != Recompute::none) s += fmt::format(", recompute {}", recompute_text(r, c));
  return s;
}

Request request_of(const Request& r, const Space& space, const Candidate& c) {
  Request one = r;
  one.plan = plan_of(space, c);
  one.layout = layout_of(space, c);
  one.searches_layouts = false;
  return one;
}

namespace {
/// Default software of 'llmcalc train' for a plan with tensor or pipeline parallelism.
constexpr std::string_view usual_planned = "megatron-lm";
}  // namespace

std::string command_of(const Request& r, const Candidate& c) {
  std::string s = fmt::format("llmcalc train {} --hardware {} --gpus {}", shell_word(r.model.word),
                              shell_word(r.hardware->word), c.gpus);
  const auto add = [&](const char* flag, Count n) {
    if (n > 1) s += fmt::format(" {} {}", flag, n);
  };
  add("--tp", c.tp);
  if (c.sp && c.tp > 1) s += " --sp";
  add("--cp", c.cp);
  add("--ep", c.ep);
  if (c.etp > 0 && c.etp != c.tp) s += fmt::format(" --etp {}", c.etp);
  add("--pp", c.pp);
  if (c.pp > 1 && fixed_chunks(c.schedule) == 0) s += fmt::format(" --chunks {}", c.chunks);
  if (c.pp > 1 && c.schedule != Schedule::one_f_one_b && c.schedule != Schedule::interleaved)
    s += fmt::format(" --schedule {}", name(c.schedule));
  if (c.zero != Zero::none) s += fmt::format(" --zero {}", static_cast<int>(c.zero));
  add("--micro-batch", c.micro_batch);
  if (c.recompute != Recompute::none) s += " --recompute " + recompute_text(r, c);
  s += fmt::format(" --global-batch {}", r.plan.global_batch);
  if (r.run.tokens) s += " --tokens " + count_text(*r.run.tokens);
  if (r.software && !r.gave("--software") && ((c.tp == 1 && c.pp == 1) || r.software->name != usual_planned))
    s += " --software " + shell_word(r.software->word);
  // The context method has no effect without context-parallel ranks.
  return s + given_text(r, {"--tokens",
                            c.cp == 1 ? "--cp-method" : "--tokens",
                            "--tp",
                            "--sp",
                            "--cp",
                            "--ep",
                            "--etp",
                            "--pp",
                            "--chunks",
                            "--schedule",
                            "--zero",
                            "--fsdp",
                            "--micro-batch",
                            "--recompute",
                            "--gpus",
                            "--hardware",
                            "--dp",
                            "--global-batch",
                            "--price",
                            "--watts",
                            "--measured-tokens-per-s"});
}

std::string nothing_fits(const SearchResult& found) {
  return found.stopped ? "stopped before a plan was found" : "no plan fits";
}

Report plan_report(const Request& r, const Space& space, const SearchResult& found, bool pareto) {
  Report report;
  report.command = "plan";
  report.title = fmt::format("{} on {}", title(r.model), devices(r, *r.gpus));
  report.model = model_json(r.model);
  report.hardware = hardware_json(*r.hardware);
  report.inputs = inputs_json(r);
  report.inputs["gpus"] = *r.gpus;
  add_verdict(report, r, space, found);
  report.grids.push_back(plans_grid(r, space, found.best, "plans", ""));
  if (!found.best.empty()) {
    report.grids.push_back(neighbors_grid(r, space, found.best[0]));
    add_estimate(report, planned(r, space, found.best[0].candidate));
  }
  if (!found.best.empty() && r.run.tokens) report.grids.push_back(run_grid(r, space, found.best[0]));
  if (pareto) report.grids.push_back(plans_grid(r, space, found.front, "front", "less memory for more time"));
  report.grids.push_back(searched_grid(space, found));
  report.brief = brief_of(r, "step.time_s", r.run.tokens.has_value());
  report.brief->with_grid = true;
  report.notes.push_back({"searched", searched_text(found)});
  report.brief->findings.push_back({"searched", searched_text(found)});
  report.notes.push_back({"not_searched", fmt::format("not searched: {}", fmt::join(not_searched(space), "; "))});
  if (!r.gave("--global-batch"))
    report.notes.push_back(
        {"assumed_global_batch",
         fmt::format("--global-batch {}, {}; set your own", r.plan.global_batch,
                     r.plan.global_batch == *r.gpus ? "one sequence per GPU"
                                                    : "one sequence per GPU at the largest GPU count")});
  return report;
}

}  // namespace llmcalc
