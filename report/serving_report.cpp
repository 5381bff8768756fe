#include "report/serving_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/question.hpp"
#include "report/sections.hpp"
#include "report/serving_prices.hpp"
#include "report/software.hpp"
#include "report/stages.hpp"

namespace llmcalc {
namespace {

std::string time_of(Seconds t) { return human_text(Quantity(t.value), Unit::seconds); }
/// Three digits, and all of a large number.
std::string short_rate(double v) {
  return v < 100 ? fmt::format("{:.3g}", v) : grouped_digits(fmt::format("{:.0f}", v));
}
std::string per_second(double requests) { return fmt::format("{} requests/s", short_rate(requests)); }

// ---- Tables

/// Times of requests; JSON has them in its section.
Grid times_grid(const Served& s) {
  Grid g{.key = "",
         .title = "times of requests",
         .columns = {"", "mean", "P50", "P90", "P95", "P99", "P99.9"},
         .rows = {}};
  const std::array rows{std::pair{"first token (TTFT)", &s.first_token}, std::pair{"per token (TPOT)", &s.per_token},
                        std::pair{"next token (ITL)", &s.gap}, std::pair{"last token", &s.latency}};
  for (const auto& [name, t] : rows)
    g.rows.push_back(
        {name, time_of(t->mean), time_of(t->p50), time_of(t->p90), time_of(t->p95), time_of(t->p99), time_of(t->p999)});
  return g;
}

/// Neighbouring samples as one.
Sample merged(std::span<const Sample> some) {
  Sample all{.start = some.front().start};
  for (const Sample& s : some) {
    all.length += s.length;
    for (double Sample::*of : {&Sample::in_progress, &Sample::waiting, &Sample::blocks_used, &Sample::busy})
      all.*of += s.*of * s.length.value;
    all.prompt_tokens += s.prompt_tokens;
    all.tokens += s.tokens;
  }
  for (double Sample::*of : {&Sample::in_progress, &Sample::waiting, &Sample::blocks_used, &Sample::busy})
    all.*of /= all.length.value;
  return all;
}

/// The run in a few stretches of time; JSON has all samples.
Grid timeline_grid(const ServingEngine& e, const ServingRun& run) {
  constexpr std::size_t shown = 8;
  Grid g{.key = "timeline",
         .title = "over time",
         .columns = {"from", "in progress", "waiting", "KV cache", "tokens/s"},
         .rows = {}};
  const std::vector<Sample> all = run.run.timeline.samples();
  const double blocks = real(mul(e.rules.scheduler.blocks, e.rules.ranks));
  for (const Sample& s : all)
    g.json.push_back({{"start_s", s.start.value},
                      {"length_s", s.length.value},
                      {"in_progress", s.in_progress},
                      {"waiting", s.waiting},
                      {"kv_occupancy", s.blocks_used / blocks},
                      {"busy", s.busy},
                      {"prompt_tokens", s.prompt_tokens},
                      {"tokens", s.tokens}});
  const std::size_t each = std::max<std::size_t>(1, (all.size() + shown - 1) / shown);
  for (std::size_t i = 0; i < all.size(); i += each) {
    const Sample s = merged(std::span(all).subspan(i, std::min(each, all.size() - i)));
    g.rows.push_back({time_of(s.start), fmt::format("{:.1f}", s.in_progress), fmt::format("{:.1f}", s.waiting),
                      human_text(s.blocks_used / blocks, Unit::ratio),
                      fmt::format("{:.0f}", s.tokens / s.length.value)});
  }
  return g;
}

// ---- Verdict

void add_slo_finding(Report& report, const Request& r, const Served& s) {
  const ServingInputs& v = r.serving;
  if (!v.slo_first_token && !v.slo_per_token) return;
  const bool kept = 100 * s.met >= v.percentile;
  report.verdict.push_back({"SLO",
                            fmt::format("{}: {:.4g} % of requests have the {}; {:g} % are asked for",
                                        kept ? "kept" : "missed", 100 * s.met, slo_text(r), v.percentile),
                            !kept});
}

void add_load_finding(Report& report, const Request& r, double capacity) {
  if (!r.serving.rate) {
    report.verdict.push_back({"capacity", per_second(capacity)});
    return;
  }
  const double rate = *r.serving.rate;
  if (rate <= capacity)
    report.verdict.push_back({"load", fmt::format("{} are {:.3g} % of the capacity, {}", per_second(rate),
                                                  100 * rate / capacity, per_second(capacity))});
  else
    report.verdict.push_back(
        {"overload",
         fmt::format("{} come and at most {} are answered: the queue grows by {} requests every second",
                     per_second(rate), per_second(capacity), short_rate(rate - capacity)),
         true});
}

void add_time_findings(Report& report, const Served& s) {
  report.verdict.push_back({"first token", fmt::format("{} on average, 95 % within {}", time_of(s.first_token.mean),
                                                       time_of(s.first_token.p95))});
  report.verdict.push_back(
      {"per token", fmt::format("{} on average, 95 % within {}: {:.3g} tokens/s for a user", time_of(s.per_token.mean),
                                time_of(s.per_token.p95), 1 / s.per_token.mean.value)});
}

void add_price_finding(Report& report, const Request& r, const ServingRun& run, const Served& s) {
  const auto p = serving_prices(r, run, s);
  if (!p) return;
  report.verdict.push_back(
      {"price", fmt::format("{:.3g} USD per million input tokens, {:.3g} USD per million output tokens", 1e6 * p->input,
                            1e6 * p->output)});
}

// ---- Notes

void add_serving_notes(Report& report, const Request& r, const ServingTraffic& traffic, const ServingRun& run) {
  if (r.engine)
    report.notes.push_back(fmt::format(
        "times are estimates under {}; single requests on a quiet machine differ by the interval of 'llmcalc infer'",
        r.engine->name));
  if (traffic.cut > 0)
    report.notes.push_back(fmt::format("{} prompts were longer than the engine takes, and were cut", traffic.cut));
  if (!traffic.unused.empty())
    report.notes.push_back(fmt::format("not used of {}: {}", r.serving.log, fmt::join(traffic.unused, ", ")));
  if (run.run.stopped)
    report.notes.push_back("stopped before the end: what is said is about the requests that were answered");
}

}  // namespace

Report serving_head(const Request& r) {
  Report report;
  report.command = "serve";
  report.title = fmt::format("{} served by {}", title(r.model), devices(r, serving_gpus(r)));
  report.model = model_json(r.model);
  report.hardware = hardware_json(*r.hardware);
  report.inputs = inputs_json(r);
  report.layout = {{"gpus", serving_gpus(r)},
                   {"tp", ranks(r.layout, Group::tensor)},
                   {"pp", ranks(r.layout, Group::pipeline)},
                   {"ep", ranks(r.layout, Group::expert)},
                   {"dp", replicas(r.layout)}};
  return report;
}

std::string slo_text(const Request& r) {
  const ServingInputs& v = r.serving;
  std::string s;
  if (v.slo_first_token) s = fmt::format("first token within {}", time_of(*v.slo_first_token));
  if (v.slo_per_token) s += fmt::format("{}{} per token", s.empty() ? "" : " and ", time_of(*v.slo_per_token));
  return s;
}

Report serving_report(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, const ServingRun& run) {
  Report report = serving_head(r);
  const Served s = served_of(r, traffic, run);
  const double capacity = serving_capacity(r, e, traffic);
  add_slo_finding(report, r, s);
  add_load_finding(report, r, capacity);
  if (s.requests > 0) add_time_findings(report, s);
  add_price_finding(report, r, run, s);
  report.sections = {serving_section(r, e, run, s, capacity)};
  if (!r.serving.pools) report.sections.push_back(steady_state_section(steady_state_of(r, e, traffic, s)));
  report.sections.push_back(engine_memory_section(r, e));
  report.grids = {times_grid(s), timeline_grid(e, run)};
  add_serving_notes(report, r, traffic, run);
  return report;
}

}  // namespace llmcalc
