#include "evidence/replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evidence/profile/table_passes.hpp"
#include "presets/estimators/engine_scheduler.hpp"

namespace llmcalc {

namespace {

RequestTraffic traffic_of(const RunCase& run) {
  RequestTraffic all;
  for (const RecordedRequest& r : run.requests)
    all.requests.push_back({.at = r.queued - run.requests[0].queued, .prompt = r.prompt, .generate = r.generated});
  return all;
}

Count longest_of(const RunCase& run) {
  Count longest = 1;
  for (const RecordedRequest& r : run.requests) longest = std::max(longest, add(r.prompt, r.generated));
  return longest;
}

/// The run's engines. Engines that dispatch tokens to the same experts run in lockstep; all other engines are
/// independent replicas behind a router. A pipeline has one micro-batch per stage in flight.
Fleet fleet_of(const RunCase& c) {
  Fleet fleet{.server = {.scheduler = scheduler_rules(c.arch, c.memory, c.limits, c.stack)},
              .routing = Routing::least_loaded};
  (c.in_step() ? fleet.server.ranks : fleet.replicas) = c.layout.dp;
  fleet.server = with_micro_batches(fleet.server, c.arch.local.reach, c.layout.pp, longest_of(c));
  return fleet;
}

double rate(double tokens, Seconds time) { return time.value > 0 ? tokens / time.value : 0; }

RequestTimes times_of(const ServerRun& served, const RunCase& run) {
  RequestTimes t;
  double tokens = 0;
  for (std::size_t i = 0; i < served.answers.size(); ++i) {
    const AnswerTimes a = served.answers[i];
    const Count generated = run.requests[i].generated;
    t.first_token.push_back(seconds(a.first - a.sent));
    t.latency.push_back(seconds(a.last - a.sent));
    if (generated > 1) t.per_token.push_back((1 / static_cast<double>(generated - 1)) * seconds(a.last - a.first));
    tokens += static_cast<double>(generated);
  }
  t.tokens_per_s = rate(tokens, seconds(served.end));
  return t;
}

/// Tokens that the simulated server generates between two times.
double tokens_between(const std::vector<Sample>& samples, Seconds begin, Seconds end) {
  double tokens = 0;
  for (const Sample& s : samples) {
    const Seconds from = std::max(begin, s.start), to = std::min(end, s.start + s.length);
    if (to > from) tokens += s.tokens * (to - from).value / s.length.value;
  }
  return tokens;
}

std::vector<RateOverTime> rates_of(const ServerRun& served, const RunCase& run) {
  std::vector<RateOverTime> all;
  const std::vector<Sample> samples = served.timeline.samples();
  Seconds begin;
  for (const RecordedSecond& s : run.seconds) {
    if (s.end <= begin) continue;
    all.push_back({begin, s.end, rate(tokens_between(samples, begin, s.end), s.end - begin), s.output_rate});
    begin = s.end;
  }
  return all;
}

}  // namespace

RequestTimes recorded_times(const RunCase& run) {
  RequestTimes t;
  double tokens = 0;
  Seconds last;
  for (const RecordedRequest& r : run.requests) {
    t.first_token.push_back(r.to_first());
    t.latency.push_back(r.whole());
    if (const auto each = r.per_token()) t.per_token.push_back(*each);
    tokens += static_cast<double>(r.generated);
    last = std::max(last, r.last_token);
  }
  t.tokens_per_s = rate(tokens, last - run.requests[0].queued);
  return t;
}

std::vector<RunFigure> run_figures(const RequestTimes& t) {
  std::vector<RunFigure> all;
  for (const auto& [name, seconds] :
       {std::pair{"ttft", &t.first_token}, {"tpot", &t.per_token}, {"latency", &t.latency}}) {
    if (seconds->empty()) continue;
    const Spread s = spread(*seconds);
    for (const auto& [part, value] : {std::pair{"mean", s.mean}, {"p50", s.p50}, {"p90", s.p90}, {"p99", s.p99}})
      all.push_back({fmt::format("{}_{}_ms", name, part), value.value * 1e3});
  }
  all.push_back({"throughput_tok_s", t.tokens_per_s});
  return all;
}

Replay replay(const RunCase& c, const PassTimes& times) {
  const ServerRun served = serve(fleet_of(c), times, traffic_of(c));
  Replay r{.times = times_of(served, c), .rates = rates_of(served, c), .passes = served.passes};
  for (const AnswerTimes& a : served.answers) r.preemptions += a.preemptions;
  return r;
}

PassTimes passes_of(const RunCase& c, const ReplayBasis& basis) {
  const InferenceParameters& p = inference_estimator().parameters;
  return basis.tables.empty() ? estimated_passes(c, p) : table_passes(c, basis.tables, p);
}

PassTimes estimated_passes(const RunCase& c, const InferenceParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = inference_rates(p, c.on.hardware, c.stack, c.plan);
  return pass_times(c.arch, c.plan, c.layout, cluster, {.most_rows = c.limits.pass_tokens});
}

}  // namespace llmcalc
