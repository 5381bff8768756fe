#include "report/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calc/run.hpp"
#include "report/measured_scale.hpp"
#include "report/option_values.hpp"
#include "report/options.hpp"
#include "report/process_estimate.hpp"
#include "report/question.hpp"
#include "report/sections.hpp"
#include "report/software.hpp"
#include "report/stages.hpp"
#include "search/neighbours.hpp"
#include "search/reverse.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// A plan that was found, in full.
struct Planned {
  Request request;
  TrainEstimate estimate;
  std::optional<ProcessEstimate> process;
};

Planned planned(const Request& r, const Space& space, const Found& f) {
  Planned p{request_of(r, space, f.candidate), {}, {}};
  p.estimate = train(p.request.model.arch, p.request.plan, p.request.layout, p.request.hardware->cluster);
  p.estimate.estimate = rescaled(r, p.estimate.estimate);
  p.process = process_estimate(p.request);
  return p;
}

/// What runs again, as --recompute says it.
std::string recompute_text(const Request& r, const Candidate& c) {
  Plan p = r.plan;
  recompute_as(p, c);
  return recomputation_text(p);
}

/// Why a plan stands where it does.
std::string reason(const Planned& p, const Planned& best, std::size_t place) {
  if (place == 0) return "the best of all plans that fit";
  const double time = p.estimate.estimate.total() / best.estimate.estimate.total() - 1;
  if (time <= 0) return "as fast as the best, or faster; behind it by the objective";
  const GrownPart most = most_grown(best.estimate.estimate, p.estimate.estimate);
  return fmt::format("{:.1f} % slower: {} +{}", 100 * time, part_label(most.part),
                     human_text(Quantity(most.by.value), Unit::seconds));
}

json::Value plan_json(const Planned& p, const std::string& why, const std::string& command) {
  Report r;
  r.sections = {step_section(p.request, p.estimate), training_memory_section(p.request), process_section(p.request)};
  const json::Value all = report_json(r);
  return {{"layout", layout_json(p.request)},
          {"inputs", {{"micro_batch", p.request.plan.micro_batch}, {"recompute", recomputation_text(p.request.plan)}}},
          {"step", all["step"]},
          {"memory", all["memory"]},
          {"reasons", {why}},
          {"command", command}};
}

Grid plans_grid(const Request& r, const Space& space, std::span<const Found> all, const char* key, const char* title) {
  Grid g{.key = key, .title = title, .columns = {"plan", "how", "step", "MFU", "peak"}, .left = 2, .rows = {}};
  if (has_process_estimate(r)) g.columns.push_back("process");
  if (space.gpus.size() > 1) g.columns.push_back("GPUs");
  std::optional<Planned> best;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Planned p = planned(r, space, all[i]);
    if (!best) best = p;
    const StepTime& t = p.estimate.estimate;
    g.rows.push_back({degrees_text(all[i].candidate), run_text(r, all[i].candidate),
                      human_text(Quantity(t.total().value), Unit::seconds),
                      human_text(Quantity(model_utilization(p.estimate, t, p.request.plan, p.request.layout,
                                                            r.hardware->cluster.device)),
                                 Unit::ratio),
                      human_text(Quantity(p.estimate.memory.peak.value), Unit::bytes)});
    if (p.process) g.rows.back().push_back(human_text(Quantity(needed(p.process->fullest()).value), Unit::bytes));
    if (space.gpus.size() > 1) g.rows.back().push_back(fmt::format("{}", all[i].candidate.gpus));
    g.json.push_back(plan_json(p, reason(p, *best, i), command_of(r, all[i].candidate)));
  }
  return g;
}

/// Why a neighbour of the best plan lost.
std::string why_lost(const Neighbour& n) {
  switch (n.verdict) {
    case Verdict::impossible:
      return "cannot be";
    case Verdict::too_large:
      return fmt::format("does not fit by {}: {} +{}", human_text(Quantity(n.over.value), Unit::bytes),
                         memory_term_names[static_cast<std::size_t>(n.term.term)],
                         human_text(Quantity(n.term.by.value), Unit::bytes));
    case Verdict::slower:
      return fmt::format("{} slower: {} +{}", human_text(Quantity(n.slower.value), Unit::seconds),
                         part_label(n.part.part), human_text(Quantity(n.part.by.value), Unit::seconds));
    case Verdict::larger:
      return fmt::format("needs {} more: {} +{}", human_text(Quantity(n.term.by.value), Unit::bytes),
                         memory_term_names[static_cast<std::size_t>(n.term.term)],
                         human_text(Quantity(n.term.by.value), Unit::bytes));
    case Verdict::no_worse:
      return "no worse";
  }
  return "";
}

/// What a neighbour has instead: "tp 8", "recompute full".
std::string change_text(const Request& r, const Neighbour& n) {
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

Grid neighbours_grid(const Request& r, const Space& space, const Candidate& best) {
  Grid g{
      .key = "neighbours", .title = "the best plan but for", .columns = {"change", "why not"}, .left = 2, .rows = {}};
  for (Neighbour n : neighbours(space, best)) {
    for (Seconds* t : {&n.slower, &n.part.by, &n.plan.found.step}) *t = r.run.measured_scale * *t;
    if (n.verdict == Verdict::impossible) continue;
    const Candidate& c = n.plan.found.candidate;
    const std::string why = why_lost(n);
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

/// The share of the memory within which tensors leave room for what the best plan's process has beside them.
void note_room(Report& report, const Planned& p) {
  if (!p.process || fits(*p.process, p.request.hardware->cluster.device)) return;
  const Bytes beside = needed(p.process->fullest()) - p.estimate.memory.peak;
  const double room = 1 - real(beside.value) / real(p.request.hardware->cluster.device.memory.value);
  const double percent = std::floor(100 * std::max(0.01, room));
  report.notes.push_back(
      fmt::format("plans are searched by their tensors, and the best one's process needs more than there is: "
                  "--memory-utilization {:g} searches those that leave it room",
                  percent / 100));
}

/// " (4.9 to 7.6 s)"
std::string step_interval(const Planned& p) {
  const auto interval = interval_of(p.request);
  if (!interval) return "";
  const double t = p.estimate.estimate.total().value;
  return fmt::format(" ({})", interval_text(t / interval->factor, t * interval->factor, Unit::seconds));
}

void add_verdict(Report& report, const Request& r, const Space& space, const SearchResult& found) {
  if (found.best.empty()) {
    report.verdict = {{"best", "none: no plan fits", true}};
    return;
  }
  const Found& f = found.best[0];
  const Planned p = planned(r, space, f);
  const StepTime& t = p.estimate.estimate;
  report.verdict = {
      {"best", fmt::format("{}; {}", degrees_text(f.candidate), run_text(r, f.candidate))},
      {p.estimate.estimated ? "time" : "at best",
       fmt::format("{} per step{}, {} MFU, {}", human_text(Quantity(t.total().value), Unit::seconds), step_interval(p),
                   human_text(Quantity(model_utilization(p.estimate, t, p.request.plan, p.request.layout,
                                                         r.hardware->cluster.device)),
                              Unit::ratio),
                   human_text(Quantity(tokens_per_second(p.estimate, t)), Unit::tokens_per_second))},
      {"fits", fmt::format("{} of {} per GPU", human_text(Quantity(f.peak.value), Unit::bytes),
                           human_text(Quantity(r.hardware->cluster.device.memory.value), Unit::bytes))}};
  if (p.process)
    report.verdict.push_back({"process", fmt::format("{} under {}", process_text(*p.process), p.process->software),
                              !fits(*p.process, r.hardware->cluster.device)});
  report.verdict.push_back({"type", command_of(r, f.candidate)});
  note_room(report, p);
}

/// Options of training that change nothing in a search.
void refuse_unsearched(const Request& r) {
  constexpr std::array ignored{"--dp",      "--stage-layers",         "--stages", "--mfu",         "--days", "--mtbf",
                               "--restart", "--checkpoint-bandwidth", "--pue",    "--require-fit", "--co2"};
  for (const char* option : ignored)
    if (r.gave(option))
      throw InputError(
          fmt::format("{} changes nothing in a search; leave it out, and give it to 'llmcalc train' with a "
                      "plan that was found",
                      option));
}

/// Everything about the request that no layout changes: lengths, formats, weights, a batch of whole micro-batches.
void check_besides_layout(const Request& r) {
  Request one = r;
  one.layout = Layout{.collectives = r.layout.collectives};
  one.layout.zero = r.layout.zero;
  check(one, part::training | part::time);
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

Space space_of(const Request& r, Objective objective, std::size_t best) {
  if (!r.gpus) throw InputError("'llmcalc plan train' needs --gpus N, the GPUs to plan for");
  refuse_unsearched(r);
  check_besides_layout(r);
  Space s;
  s.arch = r.model.arch;
  s.plan = r.plan;
  s.layout = r.layout;
  s.cluster = r.hardware->cluster;
  s.gpus = {*r.gpus};
  s.objective = objective;
  s.price_per_hour = price_of(r).value_or(1);
  s.watts = r.run.watts.value_or(r.hardware->watts > 0 ? r.hardware->watts : 1);
  s.best = best;
  const auto fix = [&](std::string_view option, Count& to, Count value) {
    if (r.gave(option)) to = value;
  };
  fix("--tp", s.fixed.tp, r.layout.tp);
  fix("--cp", s.fixed.cp, r.layout.cp);
  fix("--ep", s.fixed.ep, r.layout.ep);
  fix("--etp", s.fixed.etp, r.layout.etp);
  fix("--pp", s.fixed.pp, r.layout.pp);
  fix("--chunks", s.fixed.chunks, r.layout.chunks);
  fix("--micro-batch", s.fixed.micro_batch, r.plan.micro_batch);
  if (r.gave("--sp")) s.fixed.sp = r.layout.sp;
  if (r.gave("--recompute"))
    s.fixed.recompute = r.plan.recompute;
  else
    s.blocks = powers_up_to(r.model.arch.layers / 2);
  if (r.gave("--zero") || r.gave("--fsdp")) s.fixed.zero = r.layout.zero;
  if (r.gave("--schedule")) s.fixed.schedule = r.layout.schedule;
  return s;
}

Count gpus_for(const Request& r, Space space, double days, const Watch& watch) {
  if (!r.run.tokens) throw InputError("--deadline needs --tokens D, the tokens that it is for");
  const double tokens = real(*r.run.tokens) * r.run.measured_scale;  // each takes so much longer
  const Count most = space.gpus.back();
  space.gpus = numbers_up_to(most);
  const Seconds deadline(days * seconds_per_day);
  if (const auto found = fewest_gpus(space, tokens, deadline, watch)) return found->candidate.gpus;
  if (watch.stop && watch.stop()) return most;
  space.gpus = {most};
  space.best = 1;
  const SearchResult all = search(space, {}, watch);
  if (all.best.empty())
    throw InputError(fmt::format("no plan on up to {} GPUs holds {}; give more GPUs", most, r.model.name));
  throw InputError(
      fmt::format("no plan on up to {} GPUs trains {} tokens in {:g} days; the fastest takes {:.1f}: give "
                  "--deadline {:.0f}, or more GPUs",
                  most, *r.run.tokens, days, run_time(space, all.best[0], tokens).value / seconds_per_day,
                  std::ceil(run_time(space, all.best[0], tokens).value / seconds_per_day)));
}

Request request_of(const Request& r, const Space& space, const Candidate& c) {
  Request one = r;
  one.plan = plan_of(space, c);
  one.layout = layout_of(space, c);
  return one;
}

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
  if (r.software && !r.gave("--software") && c.tp == 1 && c.pp == 1) s += " --software " + shell_word(r.software->word);
  return s + given_text(r, {"--tp",          "--sp",
                            "--cp",          "--ep",
                            "--etp",         "--pp",
                            "--chunks",      "--schedule",
                            "--zero",        "--fsdp",
                            "--micro-batch", "--recompute",
                            "--gpus",        "--hardware",
                            "--dp",          "--json",
                            "--markdown",    "--global-batch",
                            "--exact",       "--price",
                            "--watts",       "--measured-tokens-per-s"});
}

Report plan_report(const Request& r, const Space& space, const SearchResult& found, bool pareto) {
  Report report;
  report.command = "plan";
  report.title = fmt::format("{} on {}", title(r.model), devices(r, *r.gpus));
  report.model = model_json(r.model);
  report.hardware = hardware_json(*r.hardware);
  report.inputs = inputs_json(r);
  add_verdict(report, r, space, found);
  report.grids.push_back(plans_grid(r, space, found.best, "plans", ""));
  if (!found.best.empty()) report.grids.push_back(neighbours_grid(r, space, found.best[0].candidate));
  if (pareto) report.grids.push_back(plans_grid(r, space, found.front, "front", "less memory for more time"));
  report.grids.push_back(searched_grid(space, found));
  report.notes.push_back(fmt::format(
      "{} plans: {} fit, {} do not, {} cannot be{}", grouped_digits(fmt::format("{}", found.counts.candidates)),
      grouped_digits(fmt::format("{}", found.counts.fit)), grouped_digits(fmt::format("{}", found.counts.too_large)),
      grouped_digits(fmt::format("{}", found.counts.impossible)), found.stopped ? "; stopped before the end" : ""));
  report.notes.push_back(fmt::format("not searched: {}", fmt::join(not_searched(space), "; ")));
  if (!r.gave("--global-batch"))
    report.notes.push_back(fmt::format("--global-batch {}, a sequence per GPU; give your own", r.plan.global_batch));
  return report;
}

}  // namespace llmcalc
