#include "report/serving.hpp"

namespace llmcalc {
namespace {

/// The share of a pass that its prompts take: what it would take with them alone, over that and what it would take with
/// its answers alone. Both read all weights; a pass with both shares that out.
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

}  // namespace

Fleet serving_fleet(const Request& r, const ServingEngine& e) {
  return {.server = e.rules, .replicas = r.serving.replicas, .routing = r.serving.routing};
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
  const ServerWatch watch{.pass = note, .goes_on = goes_on};
  all.run = serve(serving_fleet(r, e), e.times, traffic.requests, watch);
  return all;
}

Served served_of(const Request& r, const ServingTraffic& traffic, const ServingRun& run) {
  const ServingInputs& v = r.serving;
  Slo slo;
  slo.first_token = v.slo_first_token.value_or(slo.first_token);
  slo.per_token = v.slo_per_token.value_or(slo.per_token);
  return served(run.run, traffic.requests.requests, v.replicas, slo);
}

}  // namespace llmcalc
