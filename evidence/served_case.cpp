#include "evidence/served_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evidence/case_memory.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "serve/fleet/disaggregated.hpp"

namespace llmcalc {

namespace {

/// Low-discrepancy sequence, uniform on [0, 1): the fractional part of i times the golden ratio.
double spread_evenly(std::size_t i) {
  const double x = static_cast<double>(i) * 0.6180339887498949;
  return x - std::floor(x);
}

/// Limits of a simulation. More requests or clients would not change the means, and no request has a longer context.
constexpr double most_requests = 4096, most_clients = 1e6, most_tokens = 0x1p22;
/// Fewer with drafts, whose acceptance is drawn pass by pass; but in pools, this many of each client.
constexpr double most_drafted_requests = 1024, waves_of_pools = 3, drafted_waves_of_pools = 1;

/// Maximum number of simulated requests of a number of clients.
double most_simulated(const InferenceCase& c, double clients) {
  const double most = c.drafts > 0 ? most_drafted_requests : most_requests;
  const double waves = c.drafts > 0 ? drafted_waves_of_pools : waves_of_pools;
  return c.prompt_pool ? std::max(most, waves * clients) : most;
}

/// Puts cached tokens before the prompt. All requests share them.
void begin_with_prefix(ServerRequest& r, Count tokens) {
  r.prefix = 0;
  r.prefix_tokens = tokens;
  r.prompt += tokens;
}

RequestTraffic clients_of(const InferenceCase& c) {
  const Count cached = std::llround(std::min(c.cached, most_tokens));
  const double ratio = c.length_ratio.value_or(1), all = static_cast<double>(simulated_parts(c));
  const double clients = std::max(1.0, std::round(std::min(c.batch / all, most_clients)));
  const double n = c.kind == BatchKind::max_inflight ? clients : c.requests.value_or(10 * clients);
  const auto drawn = [&](double mean, double at) {
    const double nominal = std::min(2 * mean / (1 + ratio), most_tokens);
    return std::max<Count>(1, std::llround(nominal * (ratio + (1 - ratio) * at)));
  };
  RequestTraffic t;
  t.users = static_cast<Count>(clients);
  t.start = c.start.value_or(ClientStart::together);
  for (std::size_t i = 0; static_cast<double>(i) < std::clamp(n, 1.0, most_simulated(c, clients)); ++i) {
    ServerRequest r;
    r.prompt = drawn(c.prompt, spread_evenly(i));
    r.generate = drawn(c.generate, spread_evenly(7 * i + 3));
    if (cached > 0) begin_with_prefix(r, cached);
    t.requests.push_back(r);
  }
  return t;
}

Count longest_request(const RequestTraffic& traffic) {
  Count longest = 1;
  for (const ServerRequest& r : traffic.requests) longest = std::max(longest, add(r.prompt, r.generate));
  return longest;
}

Speculation speculation_of(const InferenceCase& c) {
  Speculation s{.length = c.drafts};
  s.acceptance.fill(c.acceptance);
  return s;
}

/// Scheduler rules of the row's engine. The cache holds at least the longest request, even if the memory rules
/// predict less, since the run served that request.
SchedulerRules rules_of(const InferenceCase& c, const InferenceStack& stack, const RequestTraffic& traffic) {
  SchedulerRules rules = scheduler_rules(c.arch, engine_memory(c), c.limits, stack);
  rules.blocks = std::max(rules.blocks, blocks_of(rules, c.arch.local.reach, longest_request(traffic)));
  rules.speculation = speculation_of(c);
  if (c.cached > 0) rules.prefix_cache = true;
  return rules;
}

/// Passes of an engine with the row's plan.
PassTimes pass_times_of(const InferenceCase& c, const Layout& layout, const Cluster& cluster,
                        const ServedOverhead& overhead) {
  PassTimes times =
      pass_times(c.arch, c.plan, layout, cluster, {.most_rows = c.limits.pass_tokens, .drafts = c.drafts});
  times.request = ticks(overhead.request);
  return times;
}

/// Engines for prompts and for answers. Each GPU sends its part of the cache over its own link between nodes.
Disaggregated pools_of(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster,
                       const RequestTraffic& traffic) {
  InferenceCase prompts = c;
  prompts.layout = c.prompt_pool->layout;
  Disaggregated all;
  all.prompts = {.server = {rules_of(prompts, stack, traffic), replicas(prompts.layout)},
                 .replicas = c.prompt_pool->engines};
  all.answers = {.server = {rules_of(c, stack, traffic), replicas(c.layout)},
                 .replicas = c.engines,
                 .routing = Routing::least_loaded};
  all.prompts.server.scheduler.prompts_only = true;
  const Link& link = cluster.levels[cluster.levels.size() - 1];
  const double token = static_cast<double>(engine_memory(prompts).token_cache.value);
  all.transfer = {.wait = ticks(link.latency), .token = ticks(Seconds(token / link.bandwidth.value))};
  return all;
}

/// Simulates the traffic on the row's engines.
class Engines {
 public:
  Engines(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster, const ServedOverhead& overhead,
          const RequestTraffic& traffic)
      : times_(pass_times_of(c, c.layout, cluster, overhead)) {
    if (c.prompt_pool) {
      pools_ = pools_of(c, stack, cluster, traffic);
      prompt_times_ = pass_times_of(c, c.prompt_pool->layout, cluster, overhead);
      return;
    }
    fleet_.server.scheduler = rules_of(c, stack, traffic);
    fleet_.server = with_micro_batches(fleet_.server, c.arch.local.reach, ranks(c.layout, Group::pipeline),
                                       longest_request(traffic));
  }
  ServerRun run(const RequestTraffic& traffic) const {
    return pools_ ? serve(*pools_, prompt_times_, times_, traffic) : serve(fleet_, times_, traffic);
  }

 private:
  Fleet fleet_;
  std::optional<Disaggregated> pools_;
  PassTimes times_, prompt_times_;
};

}  // namespace

Count simulated_parts(const InferenceCase& c) { return c.prompt_pool ? 1 : replicas(c.layout); }

ServedTimes times_served(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster,
                         const ServedOverhead& overhead) {
  RequestTraffic traffic = clients_of(c);
  const Engines engines(c, stack, cluster, overhead, traffic);
  if (traffic.start == ClientStart::spread)
    spread_starts(traffic, served(engines.run(traffic), traffic, 1).latency.mean);
  else if (c.kind == BatchKind::concurrency)
    hold_first_wave(traffic, overhead.first_wave);
  const ServerRun run = engines.run(traffic);
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
