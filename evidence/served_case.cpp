#include "evidence/served_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evidence/case_memory.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "serve/fleet/fleet.hpp"

namespace llmcalc {

namespace {

/// Low-discrepancy sequence, uniform on [0, 1): the fractional part of i times the golden ratio.
double spread_evenly(std::size_t i) {
  const double x = static_cast<double>(i) * 0.6180339887498949;
  return x - std::floor(x);
}

/// Limits of a simulation. More requests or clients would not change the means, and no request has a longer context.
constexpr double most_requests = 4096, most_clients = 1e6, most_tokens = 0x1p22;

RequestTraffic clients_of(const InferenceCase& c) {
  const double ratio = c.length_ratio.value_or(1), all = static_cast<double>(replicas(c.layout));
  const double clients = std::max(1.0, std::round(std::min(c.batch / all, most_clients)));
  const double n = c.kind == BatchKind::max_inflight ? clients : c.requests.value_or(10 * clients);
  const auto drawn = [&](double mean, double at) {
    const double nominal = std::min(2 * mean / (1 + ratio), most_tokens);
    return std::max<Count>(1, std::llround(nominal * (ratio + (1 - ratio) * at)));
  };
  RequestTraffic t;
  t.users = static_cast<Count>(clients);
  for (std::size_t i = 0; static_cast<double>(i) < std::clamp(n, 1.0, most_requests); ++i) {
    ServerRequest r;
    r.prompt = drawn(c.prompt, spread_evenly(i));
    r.generate = drawn(c.generate, spread_evenly(7 * i + 3));
    t.requests.push_back(r);
  }
  return t;
}

/// Delays the first requests of the clients by equal parts of a request's time, so that the clients end at different
/// times.
RequestTraffic spread_over(RequestTraffic t, Seconds request) {
  RequestTraffic later = {{}, t.users};
  Count i = 0;
  for (ServerRequest r : t.requests) {
    if (i < t.users) r.at = static_cast<double>(i) / static_cast<double>(t.users) * request;
    later.requests.push_back(r);
    ++i;
  }
  return later;
}

/// Delays the first pass of a closed loop: the first request of every client waits longer, and everything after it
/// shifts. A single client has no delay, since benchmarks send a request before they measure.
void delay_first_wave(ServerRun& run, Count users, Ticks delay) {
  if (users < 2) return;
  const std::size_t first = std::min(run.answers.size(), static_cast<std::size_t>(users));
  for (std::size_t i = 0; i < run.answers.size(); ++i)
    if (i < first)
      run.answers.set_first(i, run.answers.first(i) + delay);
    else
      run.answers.set_sent(i, run.answers.sent(i) + delay);
  run.end += delay;
}

Count longest_request(const RequestTraffic& traffic) {
  Count longest = 1;
  for (const ServerRequest& r : traffic.requests) longest = std::max(longest, add(r.prompt, r.generate));
  return longest;
}

/// Scheduler rules of the row's engine. The cache holds at least the longest request, even if the memory rules
/// predict less, since the run served that request.
SchedulerRules rules_of(const InferenceCase& c, const InferenceStack& stack, const RequestTraffic& traffic) {
  SchedulerRules rules = scheduler_rules(c.arch, engine_memory(c), c.limits, stack);
  rules.blocks = std::max(rules.blocks, blocks_of(rules, c.arch.local.reach, longest_request(traffic)));
  return rules;
}

}  // namespace

ServedTimes times_served(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster,
                         const ServedOverhead& overhead) {
  RequestTraffic traffic = clients_of(c);
  Fleet fleet;
  fleet.server.scheduler = rules_of(c, stack, traffic);
  fleet.server =
      with_micro_batches(fleet.server, c.arch.local.reach, ranks(c.layout, Group::pipeline), longest_request(traffic));
  PassTimes times = pass_times(c.arch, c.plan, c.layout, cluster, {.most_rows = c.limits.pass_tokens});
  times.request = ticks(overhead.request);
  if (c.start == ClientStart::spread)
    traffic = spread_over(traffic, served(serve(fleet, times, traffic), traffic, 1).latency.mean);
  ServerRun run = serve(fleet, times, traffic);
  if (c.kind == BatchKind::concurrency && c.start != ClientStart::spread)
    delay_first_wave(run, traffic.users, ticks(overhead.first_wave));
  const Served s = served(run, traffic, 1);
  ServedTimes t;
  t.first_token = s.first_token;
  t.per_token = s.per_token;
  t.gap = s.gap;
  t.request = s.latency;
  t.least_first = t.least = Seconds(std::numeric_limits<double>::infinity());
  for (const AnswerTimes& a : run.answers) {
    t.least_first = std::min(t.least_first, seconds(a.first - a.sent));
    t.least = std::min(t.least, seconds(a.last - a.sent));
  }
  t.all = seconds(run.end);
  t.tokens = static_cast<double>(run.tokens);
  return t;
}

}  // namespace llmcalc
