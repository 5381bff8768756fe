#include "report/plan/serving_plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "ask/answer/fit.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/offer.hpp"
#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/prices.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/settle.hpp"
#include "ask/answer/serving/sustained_load.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/low_precision.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/serving_inputs.hpp"
#include "report/brief/brief.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "report/report.hpp"
#include "report/serve/serving_refusal.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"
#include "report/served_run.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::array not_searched_of_serving{"pipelines over faster links than PCI Express",
                                             "disaggregated prefill and decode engines",
                                             "other weight and cache formats", "other pass limits"};

/// The parallel degrees of an engine: "tp 4".
std::string engine_text(const Layout& l) {
  std::string cut;
  const auto add_ranks = [&](const char* kind, Count n) {
    if (n > 1) cut += fmt::format("{}{}{}", cut.empty() ? "" : " ", kind, n);
  };
  add_ranks("tp ", ranks(l, Group::tensor));
  add_ranks("pp ", ranks(l, Group::pipeline));
  add_ranks("dp ", replicas(l));
  add_ranks("ep ", ranks(l, Group::expert));
  return cut.empty() ? "one GPU" : cut;
}

/// The number of engines and their parallel degrees: "2 x tp 4".
std::string engines_text(const ServingOffer& o) {
  return fmt::format("{} x {}", o.engines, engine_text(o.request.layout));
}

/// The command that serves a plan.
std::string serve_command(const ServingOffer& o) {
  const Request& r = o.request;
  const Layout& l = r.layout;
  std::string s = fmt::format("llmcalc serve {} --hardware {}", shell_word(r.model.word), shell_word(r.hardware->word));
  const auto add_ranks = [&](const char* flag, Count n) {
    if (n > 1) s += fmt::format(" {} {}", flag, n);
  };
  add_ranks("--tp", ranks(l, Group::tensor));
  add_ranks("--pp", ranks(l, Group::pipeline));
  add_ranks("--dp", replicas(l));
  add_ranks("--ep", ranks(l, Group::expert));
  if (o.engines > 1) s += fmt::format(" --replicas {} --router {}", o.engines, name(r.serving.routing));
  return s + given_text(r, {"--hardware", "--tp", "--pp", "--dp", "--ep"});
}

/// Why a plan ranks after the first.
std::string reason_of(const ServingOffer& o, const ServingOffer& best) {
  if (&o == &best) return "the best plan that meets the limits";
  const auto mine = usd_per_hour(o), least = usd_per_hour(best);
  const std::string more =
      mine && least && *mine > *least ? fmt::format(", {:.0f} % more expensive", 100 * (*mine / *least - 1)) : "";
  if (o.gpus() == best.gpus() && more.empty())
    return fmt::format("a request takes {} instead of {}", seconds_text(o.at.latency.mean),
                       seconds_text(best.at.latency.mean));
  return fmt::format("{} instead of {}{}", counted(o.gpus(), "GPU"), best.gpus(), more);
}

/// A percentile of times per token; a dash for single-token answers.
std::string per_token_text(const Served& s, Seconds Spread::*value) {
  return s.continued > 0 ? seconds_text(s.per_token.*value) : "-";
}

/// Requests per second, or users, per engine.
double engine_load(const ServingOffer& o) {
  return (o.request.serving.log.empty() ? load_of(o.request) : o.at.request_rate) / real(o.engines);
}

json::Value offer_json(const ServingOffer& o, const std::string& why) {
  Report part;
  const ServingEngine& e = o.engine;
  const ServingCapacity capacity = measured_capacity(o.request, e, serving_traffic(o.request, e));
  part.sections = {serving_section(o.request, e, o.run, o.at, capacity), engine_memory_section(o.request, e)};
  const json::Value all = report_json(part);
  json::Value v{{"hardware", o.request.hardware->name}, {"engines", o.engines},
                {"simulated_share", o.run.share},       {"layout", serving_head(o.request).layout},
                {"load_per_engine", engine_load(o)},    {"serving", all["serving"]},
                {"memory", all["engine_memory"]},       {"reasons", {why}},
                {"command", serve_command(o)}};
  if (const auto usd = usd_per_hour(o)) v["usd_per_h"] = *usd;
  if (o.caution > 1) v["pass_times_in_search"] = o.caution;
  if (o.interval) {
    v["engines_low"] = o.interval->low;
    if (o.interval->high) v["engines_high"] = *o.interval->high;
    if (const auto usd = usd_per_hour(o)) {
      v["usd_per_h_low"] = *usd * real(o.interval->low) / real(o.engines);
      if (o.interval->high) v["usd_per_h_high"] = *usd * real(*o.interval->high) / real(o.engines);
    }
  }
  return v;
}

/// A percentile in the table of times.
struct Tabulated {
  double percent;
  const char* name;
  Seconds Spread::*value;
};
/// The highest tabulated percentile up to --percentile (the percentile to which the limits apply); at least the median.
const Tabulated& shown_percentile(double percent) {
  static constexpr std::array all{Tabulated{50, "P50", &Spread::p50}, Tabulated{90, "P90", &Spread::p90},
                                  Tabulated{95, "P95", &Spread::p95}, Tabulated{99, "P99", &Spread::p99},
                                  Tabulated{99.9, "P99.9", &Spread::p999}};
  const auto above = std::find_if(all.begin() + 1, all.end(), [&](const Tabulated& t) { return t.percent > percent; });
  return *(above - 1);
}

Grid offers_grid(const std::vector<const ServingOffer*>& shown, const ServingPlanQuestion& q) {
  Grid g{.key = "plans",
         .title = "",
         .columns = {"hardware", "engines", "GPUs", "USD/h", "USD per 1M out"},
         .left = 2,
         .rows = {}};
  const Tabulated& percentile = shown_percentile(shown.front()->request.serving.percentile);
  for (const char* time : {"TTFT", "TPOT"}) g.columns.push_back(fmt::format("{} {}", time, percentile.name));
  for (const ServingOffer* o : shown) {
    const auto usd = usd_per_hour(*o);
    const auto prices = serving_prices(o->request, o->run, o->at);
    g.rows.push_back({o->request.hardware->name, engines_text(*o), fmt::format("{}", o->gpus()),
                      usd ? fmt::format("{:.2f}", *usd) : "-",
                      prices && prices->output > 0 ? fmt::format("{:.3g}", 1e6 * prices->output) : "-",
                      seconds_text(o->at.first_token.*percentile.value), per_token_text(o->at, percentile.value)});
    if (q.whole) g.json.push_back(offer_json(*o, reason_of(*o, *shown.front())));
  }
  if (!q.several) g.drop(0), --g.left;
  return g;
}

/// Why an offer is not the best.
std::string why_not(const ServingOffer& o, const ServingOffer& best) {
  if (!o.why.empty()) return o.why;
  if (o.served()) return reason_of(o, best);
  return fmt::format("{}{}", counted(o.gpus(), "GPU"), o.settled ? "" : " or more");
}

/// The other layouts on the best plan's hardware, and why each one lost.
Grid neighbors_grid(const std::vector<ServingOffer>& offers, const ServingOffer& best) {
  Grid g{.key = "neighbours",
         .title = fmt::format("other layouts on {}", best.request.hardware->name),
         .columns = {"engine", "why not"},
         .left = 2,
         .rows = {}};
  for (const ServingOffer& o : offers) {
    if (&o == &best || o.request.hardware->name != best.request.hardware->name) continue;
    const std::string why = why_not(o, best);
    g.rows.push_back({engine_text(o.request.layout), why});
    g.json.push_back({{"layout", serving_head(o.request).layout}, {"reasons", {why}}});
  }
  return g;
}

/// Precondition: `front` is not empty.
Grid front_grid(const std::vector<ServingPoint>& front) {
  Grid g{.key = "front",
         .title = fmt::format("speed per user against throughput per GPU: one engine on {}",
                              front.front().offer->request.hardware->name),
         .columns = {"engine", "users", "tokens/s per user", "tokens/s per GPU"},
         .rows = {}};
  for (const ServingPoint& p : front) {
    ServingOffer one = *p.offer;
    one.engines = 1;
    one.request.serving.replicas = 1;
    g.rows.push_back({engine_text(one.request.layout), fmt::format("{}", p.users), fmt::format("{:.1f}", p.user_speed),
                      fmt::format("{:.1f}", p.gpu_rate)});
    g.json.push_back({{"hardware", one.request.hardware->name},
                      {"layout", serving_head(one.request).layout},
                      {"users", p.users},
                      {"tokens_per_s_per_user", p.user_speed},
                      {"tokens_per_s_per_gpu", p.gpu_rate}});
  }
  return g;
}

// ---- Verdict

std::string load_text(const Request& r) {
  if (!r.serving.log.empty()) return "the requests of " + r.serving.log;
  return r.serving.users ? fmt::format("{} users", *r.serving.users) : fmt::format("{:g} requests/s", *r.serving.rate);
}

/// The interval of the number of GPUs: " (12 to 34)".
std::string gpu_ends_text(const ServingOffer& o) {
  if (!o.interval) return "";
  const auto gpus = [&](Count engines) { return mul(engines, devices(o.request.layout)); };
  return o.interval->high
             ? fmt::format(" ({} to {})", gpus(o.interval->low), gpus(*o.interval->high))
             : fmt::format(" ({} or more: the slow end misses the limits with any number)", gpus(o.interval->low));
}

std::string offer_text(const ServingOffer& o) {
  const auto usd = usd_per_hour(o);
  const auto prices = serving_prices(o.request, o.run, o.at);
  std::string s = fmt::format("{}{} of {}, {}", counted(o.gpus(), "GPU"), gpu_ends_text(o), title(*o.request.hardware),
                              engines_text(o));
  if (usd) s += fmt::format("; {:.2f} USD/h", *usd);
  if (prices) s += ", " + prices_text(*prices, std::nullopt);
  return s;
}

/// The larger of the ratios of an uncontended request's times to the limits.
double distance(const ServingOffer& o) {
  const ServingInputs& v = o.request.serving;
  double most = 0;
  if (v.slo_first_token) most = std::max(most, o.alone.first_token.mean / *v.slo_first_token);
  if (v.slo_per_token) most = std::max(most, o.alone.per_token.mean / *v.slo_per_token);
  return most;
}

/// The resources that bound prefill and decode of an uncontended request. For prefill, the engine's time per request
/// if it exceeds the prefill time.
std::string bound_text(const Request& r) {
  const Plan alone = with_batch(r.plan, 1);
  const Cluster& on = r.hardware->cluster;
  const auto name = [](const PassEstimate& p) { return bound_names[static_cast<std::size_t>(bound(p.estimate))]; };
  const PassEstimate prompt = prefill(r.model.arch, alone, r.layout, on, alone.prompt);
  const Seconds engine = r.engine ? request_seconds(inference_estimator().parameters, *r.engine->inference) : Seconds();
  return fmt::format("prefill is bound by {}, decode by {}",
                     engine > prompt.estimate.total() ? fmt::format("the {} that {} spends per request",
                                                                    seconds_text(engine), r.engine->named_version())
                                                      : std::string(name(prompt)),
                     name(decode(r.model.arch, alone, r.layout, on, alone.prompt + alone.generate)));
}

/// The matching offer with the smallest `value`; null if no offer matches.
template <class Asked, class Value>
const ServingOffer* least_of(const std::vector<ServingOffer>& offers, const Asked& asked, const Value& value) {
  const ServingOffer* best = nullptr;
  for (const ServingOffer& o : offers)
    if (asked(o) && (best == nullptr || value(o) < value(*best))) best = &o;
  return best;
}
bool fits(const ServingOffer& o) { return o.fits; }

/// Adds the shortfall of the nearest engine, if no engine can hold a request.
void add_no_room(Report& report, const std::vector<ServingOffer>& offers) {
  const auto missing = [](const ServingOffer& o) { return Bytes() - o.engine.memory.kv_cache; };
  const ServingOffer* best = least_of(
      offers, [](const ServingOffer& o) { return o.possible; }, missing);
  report.verdict.push_back({"reason", "no searched layout has enough free memory for a request", true});
  if (best == nullptr) return;
  report.verdict.push_back(
      {"nearest", fmt::format("{} x {}", devices(best->request.layout), title(*best->request.hardware))});
  for (Finding& f : no_room_findings(best->request, best->engine)) report.verdict.push_back(std::move(f));
}

/// For each limit, the offer whose uncontended requests come nearest to it.
Grid nearest_grid(const std::vector<ServingOffer>& offers) {
  Grid g{.key = "nearest", .title = "", .columns = {}, .rows = {}};
  const auto add = [&](const char* slo, std::optional<Seconds> limit, Spread Served::*times) {
    if (!limit) return;
    const ServingOffer* o = least_of(offers, fits, [&](const ServingOffer& x) { return (x.alone.*times).mean; });
    if (o == nullptr) return;
    json::Value v{{"slo", slo},
                  {"limit_s", limit->value},
                  {"ttft_s", o->alone.first_token.mean.value},
                  {"latency_s", o->alone.latency.mean.value},
                  {"hardware", o->request.hardware->name},
                  {"layout", serving_head(o->request).layout}};
    if (o->alone.continued > 0) v["tpot_s"] = o->alone.per_token.mean.value;
    g.json.push_back(std::move(v));
  };
  const ServingInputs& v = offers.front().request.serving;
  g.json = json::Value::array();
  add("ttft", v.slo_first_token, &Served::first_token);
  add("tpot", v.slo_per_token, &Served::per_token);
  return g;
}

/// Fit of the offer whose uncontended requests come nearest to the limits; `no` if no offer can hold a request.
Fit fit_of_nearest(const std::vector<ServingOffer>& offers) {
  const ServingOffer* best = least_of(offers, fits, distance);
  return best == nullptr ? Fit() : fit_of(InferenceAnswer(best->request));
}

/// Adds the nearest offers, if no offer meets the limits.
void add_nearest(Report& report, const std::vector<ServingOffer>& offers) {
  Grid none{.key = "plans", .title = "", .columns = {}, .rows = {}};
  none.json = json::Value::array();
  report.grids = {std::move(none), nearest_grid(offers)};
  const ServingOffer* best = least_of(offers, fits, distance);
  if (best == nullptr) return add_no_room(report, offers);
  const Request& r = best->request;
  report.verdict.push_back(
      {"nearest",
       fmt::format(
           "{} x {}: without queueing, TTFT is {}{}", devices(r.layout), title(*r.hardware),
           seconds_text(best->alone.first_token.mean),
           best->alone.continued > 0 ? fmt::format(" and TPOT is {}", seconds_text(best->alone.per_token.mean)) : "")});
  report.verdict.push_back({"reason", distance(*best) > 1 ? bound_text(r) : best->why});
}

/// Names the shown devices that no published run used.
void add_unmeasured(Report& report, const std::vector<const ServingOffer*>& shown) {
  std::set<std::string> names;
  for (const ServingOffer* o : shown)
    if (o->request.engine && is_new_to_fit(o->request)) names.insert(o->request.hardware->name);
  if (names.empty()) return;
  const bool cautious = std::any_of(shown.begin(), shown.end(), [](const ServingOffer* o) { return o->caution > 1; });
  report.verdict.push_back({"unmeasured", fmt::format("no published run on {} under {}{}", fmt::join(names, ", "),
                                                      shown.front()->request.engine->name,
                                                      cautious ? "; counted at the slow end of its interval" : "")});
}

void add_best(Report& report, const std::vector<const ServingOffer*>& shown, const ServingOffer& fewest) {
  const bool both = &fewest == shown.front();
  report.verdict.push_back({both ? "best" : "fewest", offer_text(fewest)});
  if (!both && usd_per_hour(*shown.front())) report.verdict.push_back({"cheapest", offer_text(*shown.front())});
  add_unmeasured(report, shown);
  add_time_findings(report, shown.front()->request, shown.front()->at);
  report.verdict.push_back({"command", serve_command(*shown.front())});
}

/// Adds the estimate's parameters and intervals for the times of the offers.
void add_serving_estimate(Report& report, const std::vector<const ServingOffer*>& shown) {
  const Request& best = shown.front()->request;
  if (!best.engine) return;
  report.sections.push_back(inference_estimate_section(best));
  report.notes.push_back(estimate_note(best));
  std::set<std::string> noted;
  for (const ServingOffer* o : shown)
    if (noted.insert(o->request.hardware->name).second) {
      note_wider_inference(o->request, report);
      note_served_run(o->request, report);
    }
}

/// Adds the formats of the best plan's weights and matmuls.
void add_formats(Report& report, const Request& best) {
  report.notes.push_back({"weight_formats", "weights in " + weights_text(best)});
  add_note(report.notes, formats_of_matmuls(best));
}

// ---- Selection of offers

/// The offers on one kind of hardware that can hold a request.
std::vector<const ServingOffer*> offers_of(const std::vector<ServingOffer>& offers, const std::string& hardware) {
  std::vector<const ServingOffer*> all;
  for (const ServingOffer& o : offers)
    if (o.fits && o.request.hardware->name == hardware) all.push_back(&o);
  return all;
}

Grid left_out_of_plan(const std::vector<ServingOffer>& offers, const std::vector<LeftOut>& left_out) {
  Grid g{.key = "left_out", .title = "", .columns = {}, .rows = {}};
  for (const ServingOffer& o : offers)
    if (!o.why.empty())
      g.json.push_back(
          {{"hardware", o.request.hardware->name}, {"layout", serving_head(o.request).layout}, {"reason", o.why}});
  for (const LeftOut& l : left_out) g.json.push_back({{"hardware", l.name}, {"reason", l.why}});
  return g;
}

Grid searched_offers(const std::vector<ServingOffer>& offers, bool stopped) {
  Grid g{.key = "searched", .title = "", .columns = {}, .rows = {}};
  Count fit = 0, serve = 0;
  for (const ServingOffer& o : offers) {
    fit += o.fits;
    serve += o.why.empty();
  }
  g.json = {{"candidates", offers.size()},
            {"fit", fit},
            {"serve", serve},
            {"stopped", stopped},
            {"not_searched", not_searched_of_serving}};
  return g;
}

}  // namespace

Report serving_plan_report(const Request& like, const std::vector<ServingOffer>& offers,
                           const std::vector<const ServingOffer*>& shown, const std::vector<LeftOut>& left_out,
                           const ServingPlanQuestion& q) {
  Report report;
  report.command = "plan";
  report.title = fmt::format("{} for {}: {} for {:g} % of requests", title(like.model), load_text(like), slo_text(like),
                             like.serving.percentile);
  report.model = model_json(like.model);
  report.inputs = inputs_json(like);
  if (shown.empty()) {
    report.verdict = {{"best", "no layout meets the limits", true}};
    report.fit = fit_of_nearest(offers);
    add_nearest(report, offers);
  } else {
    report.fit = fit_of(InferenceAnswer(shown.front()->request));
    add_best(report, shown,
             **std::min_element(shown.begin(), shown.end(),
                                [](const ServingOffer* a, const ServingOffer* b) { return has_fewer_gpus(*a, *b); }));
    report.grids = {offers_grid(shown, q), neighbors_grid(offers, *shown.front())};
    const auto front = serving_front(offers_of(offers, shown.front()->request.hardware->name));
    if (!front.empty()) report.grids.push_back(front_grid(front));
    add_serving_estimate(report, shown);
  }
  report.brief = brief_of(shown.empty() ? like : shown.front()->request, "serving.tpot_s.mean", !shown.empty());
  report.brief->with_grid = true;
  report.grids.push_back(left_out_of_plan(offers, left_out));
  report.grids.push_back(searched_offers(offers, q.stopped));
  const json::Object counts(report.grids.back().json, "the search");
  report.notes.push_back(
      {"searched", fmt::format("{} layouts: {} fit, {} meet the limits{}", counts.count("candidates"),
                               counts.count("fit"), counts.count("serve"), q.stopped ? "; stopped early" : "")});
  add_note(report.notes, failed_requests_note(like, q.failed));
  if (!shown.empty()) add_formats(report, shown.front()->request);
  if (std::any_of(shown.begin(), shown.end(), [](const ServingOffer* o) { return o->run.share < 1; }))
    report.notes.push_back(
        {"simulated_engines", "of many engines, only 32 are simulated, with their share of the load"});
  report.notes.push_back({"not_searched", fmt::format("not searched: {}", fmt::join(not_searched_of_serving, "; "))});
  return report;
}

}  // namespace llmcalc
