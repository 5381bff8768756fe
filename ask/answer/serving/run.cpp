#include "ask/answer/serving/run.hpp"

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"

namespace llmcalc {
namespace {

/// Share of a pass's time spent on prompts: the time of a pass with only the prompts, divided by the sum of this time
/// and that of a pass with only the answers. Both passes read all weights, so this cost of a mixed pass is split.
double prompt_share(const PassWork& work, const PassTimes& times) {
  if (work.decoding == 0) return 1;
  if (work.prompt_tokens == 0) return 0;
  PassWork prompts = work, answers = work;
  prompts.decoding = prompts.decoded = prompts.drafting = 0;
  prompts.sampled = work.sampled - work.decoded;
  prompts.decodes = {};
  answers.prompt_tokens = answers.chunks = 0;
  answers.sampled = work.decoded;
  answers.prompts = {};
  const double of_prompts = seconds(times.pass(prompts)).value, of_answers = seconds(times.pass(answers)).value;
  return of_prompts / (of_prompts + of_answers);
}

/// Transfer of a request's keys and values to another engine. Each GPU sends its share of every token over its own
/// link.
CacheTransfer transfer_of(const Request& r, const ServingEngine& e) {
  const Link link = link_between_engines(r);
  return {.wait = ticks(link.latency),
          .token = ticks(Seconds(static_cast<double>(e.memory.token_cache.value) / link.bandwidth.value))};
}

Disaggregated pools_of(const Request& r, const ServingEngine& e) {
  const Pools& n = *r.serving.pools;
  Disaggregated all{.prompts = {.server = e.rules, .replicas = n.prefill, .routing = r.serving.routing},
                    .answers = {.server = e.rules, .replicas = n.decode, .routing = Routing::least_loaded},
                    .transfer = transfer_of(r, e)};
  all.prompts.server.scheduler.prompts_only = true;
  return all;
}

}  // namespace

Fleet serving_fleet(const Request& r, const ServingEngine& e) {
  return {.server = e.rules, .replicas = r.serving.replicas, .routing = r.serving.routing};
}

ServerRun plain_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, const ServerWatch& watch) {
  if (r.serving.pools) return serve(pools_of(r, e), e.times, e.times, traffic.requests, watch);
  return serve(serving_fleet(r, e), e.times, traffic.requests, watch);
}

ServingRun serving_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, bool keep_passes,
                       const GoesOn& goes_on) {
  ServingRun all;
  const auto note = [&](const PassRecord& p) {
    if (keep_passes) all.passes.push_back(p);
    const double time = seconds(p.end - p.start).value, share = prompt_share(p.work, e.times);
    all.prompt_seconds += share * time;
    all.answer_seconds += (1 - share) * time;
  };
  all.run = plain_run(r, e, traffic, {.pass = note, .goes_on = goes_on});
  return all;
}

Slo slo_of(const Request& r) {
  Slo slo;
  slo.first_token = r.serving.slo_first_token.value_or(slo.first_token);
  slo.per_token = r.serving.slo_per_token.value_or(slo.per_token);
  return slo;
}

Served served_of(const Request& r, const ServingTraffic& traffic, const ServerRun& run) {
  return served(run, traffic.requests, serving_engines(r), slo_of(r));
}

}  // namespace llmcalc
