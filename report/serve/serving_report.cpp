#include "report/serve/serving_report.hpp"
#include "ask/request/prices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ask/answer/fit.hpp"
#include "ask/answer/interval.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/offer.hpp"
#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/prices.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/answer/serving/sustained_load.hpp"
#include "ask/request/low_precision.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/serve/serving_sections.hpp"
#include "report/served_run.hpp"
#include "report/train/stages.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// Three digits, or all digits of a large number.
std::string short_rate(double v) {
  return v < 100 ? fmt::format("{:.3g}", v) : grouped_digits(fmt::format("{:.0f}", v));
}
std::string per_second(double requests) { return fmt::format("{} requests/s", short_rate(requests)); }

// ---- Tables

/// Times of requests; JSON has them in its section.
Grid times_grid(const Served& s) {
  Grid g{.key = "",
         .title = "request latencies",
         .columns = {"", "mean", "P50", "P90", "P95", "P99", "P99.9"},
         .rows = {}};
  const auto add = [&](const char* name, const Spread& t) {
    g.rows.push_back({name, seconds_text(t.mean), seconds_text(t.p50), seconds_text(t.p90), seconds_text(t.p95),
                      seconds_text(t.p99), seconds_text(t.p999)});
  };
  add("first token (TTFT)", s.first_token);
  if (s.continued > 0) {
    add("per token (TPOT)", s.per_token);
    add("next token (ITL)", s.gap);
  }
  add("last token", s.latency);
  return g;
}

/// Merges adjacent samples.
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

/// The run in a few time intervals; JSON has all samples.
Grid timeline_grid(const Request& r, const ServingEngine& e, const ServingRun& run) {
  constexpr std::size_t shown = 8;
  Grid g{.key = "timeline",
         .title = "over time",
         .columns = {"from", "in progress", "waiting", "KV cache", "tokens/s"},
         .rows = {}};
  const std::vector<Sample> all = run.run.timeline.samples();
  const double blocks = all_blocks(r, e);
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
    g.rows.push_back({seconds_text(s.start), fmt::format("{:.1f}", s.in_progress), fmt::format("{:.1f}", s.waiting),
                      human_text(s.blocks_used / blocks, Unit::ratio),
                      fmt::format("{:.0f}", s.tokens / s.length.value)});
  }
  return g;
}

// ---- Verdict

void add_slo_finding(Report& report, const Request& r, const Served& s) {
  const ServingInputs& v = r.serving;
  if (!v.slo_first_token && !v.slo_per_token) return;
  const bool saved = 100 * s.met >= v.percentile;
  report.verdict.push_back({"SLO",
                            fmt::format("{}: {:.4g} % of requests meet {}; the target is {:g} %",
                                        saved ? "met" : "missed", 100 * s.met, slo_text(r), v.percentile),
                            !saved});
}

/// If the limits are missed, adds the highest load that meets them, or the speed of an uncontended request if even that
/// is too slow.
void add_possible(Report& report, const Request& r, const ServingEngine& e, const Served& s, double capacity) {
  const ServingInputs& v = r.serving;
  const bool tried = (v.rate || v.users) && (v.slo_first_token || v.slo_per_token);
  if (!tried || keeps_slo(r, s)) return;
  const std::string slow = too_slow(r, served_alone(r, e));
  const double most = slow.empty() ? most_sustained_load(r, e, capacity) : 0;
  if (most > 0)
    report.verdict.push_back(
        {"instead", fmt::format("{} meet it", v.users ? counted(static_cast<Count>(most), "user") : per_second(most))});
  else
    report.verdict.push_back({"reason", slow.empty() ? "no load meets it, down to 1/256 of this load" : slow});
}

/// Throughput with a queue, which is below the capacity if queueing has a cost.
double beyond_capacity(const ServingCapacity& c) {
  return c.depends_on_queue() ? std::min(c.overloaded, c.rate()) : c.rate();
}

/// The interval of the capacity: " (6.1 to 16.7)"; empty if it is unknown.
std::string capacity_ends_text(const Request& r, double capacity) {
  const auto ends = capacity_interval(r);
  if (!ends) return "";
  return fmt::format(" ({} to {})", short_rate(ends->low * capacity), short_rate(ends->high * capacity));
}

/// Reports a rate beyond the capacity as overload if the run confirms it.
void add_load_finding(Report& report, const Request& r, const ServingRun& run, const Served& s,
                      const ServingCapacity& measured) {
  const double capacity = measured.rate();
  if (!r.serving.rate) {
    report.verdict.push_back({"capacity", per_second(capacity) + capacity_ends_text(r, capacity)});
    return;
  }
  constexpr double as_good_as = 1.03;
  const double rate = *r.serving.rate, queue = long_queue(run.run), growth = queue_growth(run.run);
  const double answered = std::max(beyond_capacity(measured), s.request_rate);
  const std::string come = per_second(rate), most = per_second(capacity);
  std::string load = fmt::format("{} is {:.3g} % of the capacity of {}{}", come, 100 * rate / capacity, most,
                                 capacity_ends_text(r, capacity));
  if (rate > capacity && (queue > 0 || growth > 0)) {
    report.verdict.push_back(
        {"overload",
         fmt::format("{} arrive, but at most {} complete: the queue grows by {} requests per second", come,
                     per_second(answered), short_rate(growth > 0 ? growth : rate - answered)),
         true});
    return;
  }
  if (rate > as_good_as * capacity)
    load = fmt::format("{} exceeds the capacity of {}, although no backlog built up in this run", come, most);
  else if (rate > capacity)
    load = fmt::format("{} equals the capacity", come);
  if (queue > 0) load += fmt::format("; up to {} requests wait at the same time", short_rate(queue));
  report.verdict.push_back({"load", load, queue > 0});
}

/// A time's mean, interval and percentile: "22.81 ms (17.71 to 29.38 ms) on average, 95 % within 25.76 ms".
std::string spread_text(const Request& r, InferenceClass kind, const Spread& t) {
  const auto interval = interval_of(r, kind);
  const double mean = t.mean.value, factor = interval ? interval->factor : 1;
  const std::string range =
      interval ? fmt::format(" ({})", interval_text(mean / factor, mean * factor, Unit::seconds)) : "";
  return fmt::format("{}{} on average, 95 % within {}", seconds_text(t.mean), range, seconds_text(t.p95));
}

}  // namespace

void add_time_findings(Report& report, const Request& r, const Served& s) {
  report.verdict.push_back({"first token", spread_text(r, InferenceClass::first_token, s.first_token)});
  if (s.continued == 0) return;
  report.verdict.push_back({"per token", fmt::format("{}: {:.3g} tokens/s per user",
                                                     spread_text(r, InferenceClass::served_decode, s.per_token),
                                                     1 / s.per_token.mean.value)});
}

Note estimate_note(const Request& r) {
  const auto interval = interval_of(r, InferenceClass::served_decode);
  if (!interval)
    return {"estimate_without_interval",
            fmt::format("times are estimates for {}; published data is insufficient for an error interval",
                        r.engine->named_version())};
  return {"estimate_with_interval",
          fmt::format("times are estimates for {}; 9 of 10 measured means{} are within the printed range",
                      r.engine->named_version(), interval->known() ? "" : ", all of one source,")};
}

namespace {

void add_price_finding(Report& report, const Request& r, const ServingRun& run, const Served& s, double capacity) {
  const auto p = serving_prices(r, run, s);
  if (!p) return;
  report.verdict.push_back({"price", prices_text(*p, throughput_interval(r, s, capacity))});
}

/// Time and cost of a fixed number of requests.
void add_job_finding(Report& report, const Request& r, const Served& s) {
  if (!r.gave("--num-requests") && r.serving.log.empty()) return;
  const std::optional<double> usd = price_of(r);
  const double hours = s.duration.value / 3600;
  const std::string cost =
      usd ? ", " + human_text(Quantity(hours * *usd * static_cast<double>(serving_gpus(r))), Unit::dollars) : "";
  report.verdict.push_back(
      {"job", fmt::format("{} in {}{}", counted(s.requests, "request"), seconds_text(s.duration), cost)});
}

Count mean_tokens(const ServingTraffic& traffic) {
  const SteadyLoad mean = mean_load(traffic);
  return static_cast<Count>(mean.prompt + mean.generate + 0.5);
}

/// Adds the values in effect for options that were not specified.
void put_effective(json::Value& inputs, const Request& r, const ServingTraffic& traffic) {
  if (r.serving.log.empty()) inputs["num_requests"] = traffic.requests.requests.size();
}

// ---- Notes

void add_serving_notes(Report& report, const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                       const ServingRun& run) {
  if (r.engine) report.notes.push_back(estimate_note(r));
  note_measured_device(r, report);
  note_wider_inference(r, report);
  note_served_run(r, report);
  add_note(report.notes, formats_of_matmuls(r));
  if (const std::string why = why_no_long_run(r, e); !why.empty())
    report.notes.push_back({"no_steady_state", "no capacity from pass limits: " + why});
  if (r.serving.prefix_cache && e.rules.scheduler.limited_groups > 0 && e.rules.scheduler.whole_groups == 0)
    report.notes.push_back(
        {"prefix_cache_of_windows",
         "every layer has a window: a sequence keeps only its window, and reuse of cached windows by later prompts is "
         "not counted"});
  if (traffic.cut > 0)
    report.notes.push_back(
        {"truncated_prompts", fmt::format("{} prompts exceeded the engine limit and were truncated", traffic.cut)});
  if (!traffic.unused.empty())
    report.notes.push_back(
        {"unused_log_fields", fmt::format("unused in {}: {}", r.serving.log, fmt::join(traffic.unused, ", "))});
  add_note(report.notes, failed_requests_note(r, traffic.failed));
  if (run.run.stopped)
    report.notes.push_back({"stopped_early", "stopped early: results cover only completed requests"});
}

}  // namespace

Note failed_requests_note(const Request& r, Count failed) {
  if (failed == 0) return {"failed_requests", ""};
  return {"failed_requests", fmt::format("omitted {} of {} without tokens of a prompt or an answer",
                                         counted(failed, "request"), r.serving.log)};
}

Report serving_head(const Request& r) {
  Report report;
  report.command = "serve";
  report.title = fmt::format("{} served by {}", title(r.model), devices(r, serving_gpus(r)));
  report.model = model_json(r.model);
  report.hardware = hardware_json(*r.hardware);
  report.inputs = inputs_json(r);
  report.fit = fit_of(InferenceAnswer(r));
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
  if (v.slo_first_token) s = fmt::format("first token within {}", seconds_text(*v.slo_first_token));
  if (v.slo_per_token) s += fmt::format("{}{} per token", s.empty() ? "" : " and ", seconds_text(*v.slo_per_token));
  return s;
}

Report serving_report(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, const ServingRun& run) {
  Report report = serving_head(r);
  const Served s = served_of(r, traffic, run.run);
  const ServingCapacity measured = measured_capacity(r, e, traffic);
  const double capacity = measured.rate();
  add_slo_finding(report, r, s);
  if (!run.run.stopped) add_possible(report, r, e, s, capacity);
  add_load_finding(report, r, run, s, measured);
  if (s.requests > 0) add_time_findings(report, r, s);
  add_price_finding(report, r, run, s, capacity);
  add_job_finding(report, r, s);
  report.sections = {serving_section(r, e, run, s, measured)};
  if (why_no_long_run(r, e).empty())
    report.sections.push_back(steady_state_section(r, steady_state_of(r, e, traffic, s, measured.cached)));
  report.sections.push_back(engine_memory_section(r, e, has_lengths_of_its_own(r) ? mean_tokens(traffic) : 0));
  if (r.engine) report.sections.push_back(inference_estimate_section(r));
  report.grids = {times_grid(s), timeline_grid(r, e, run)};
  put_effective(report.inputs, r, traffic);
  report.brief = brief_of(r, "serving.tpot_s.mean", true);
  if (run.run.stopped)
    report.brief->findings.push_back({"stopped early", "the results cover only completed requests", true});
  report.brief->bars = {memory_bar(e, r.hardware->cluster.device.memory)};
  report.brief->rows = {"serving.throughput_out_tok_s"};
  add_serving_notes(report, r, e, traffic, run);
  return report;
}

}  // namespace llmcalc
