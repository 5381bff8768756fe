#include "ask/answer/serving/engine.hpp"

#include <algorithm>
#include <array>

#include "ask/answer/serving/engine_capacity.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "ask/request/software.hpp"
#include "calc/memory.hpp"
#include "calc/parallel/expert.hpp"
#include "calc/parameters.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "presets/load.hpp"

namespace llmcalc {
namespace {

/// Logit bytes per sequence, with the per-token bytes of a pass spread over its sequences.
double logit_bytes(const EngineLaw& law, const EngineLimits& limits) {
  return law.logit_bytes_per_sequence + law.logit_bytes_per_token * real(limits.pass_tokens) / real(limits.sequences);
}

/// Memory terms of vLLM; for other engines only the libraries on NVIDIA devices (driver, kernel code, communicators),
/// which do not depend on the engine. Sampler memory of other engines is 0 unless their EngineLaw specifies it.
EngineTerms terms_of(const Request& r, const std::optional<ModelCard>& draft) {
  EngineTerms t;
  if (is_vllm(r))
    t = engine_terms(host_of(r), r.model.arch, r.plan, r.layout);
  else if (r.engine && r.engine->server && r.hardware->vendor == "NVIDIA")
    t.libraries = engine_terms({std::nullopt, ranks(r.layout, Group::tensor), *r.hardware}).libraries;
  if (r.engine && r.engine->server) {
    t.graphs = r.engine->server->graphs;
    t.grant = r.engine->server->grant;
    t.window_share = window_share(*r.engine->server, r.model.family);
    if (!is_vllm(r)) t.logit_bytes = logit_bytes(*r.engine->server, serving_limits(r));
  }
  t.share_of_free = r.plan.memory_utilization;
  t.adapters = adapter_bytes(r.model.arch, r.plan, r.layout, r.serving.adapters);
  if (!draft) return t;
  Plan plan = r.plan;
  plan.weight_precision = plan.weight_precision.formats_alone();  // drops the main model's byte count
  t.draft = weights_bytes(draft->arch, plan, r.layout);
  t.draft_token_cache = cache_bytes_per_token(draft->arch, r.plan, r.layout);
  return t;
}

std::optional<ModelCard> draft_of(const Request& r) {
  if (r.serving.draft_model.empty()) return std::nullopt;
  return load_model(r.serving.draft_model);
}

Speculation speculation_of(const ServingInputs& v) {
  Speculation s{.length = v.draft_tokens, .seed = static_cast<std::uint64_t>(v.seed)};
  for (std::size_t i = 0; i < s.acceptance.size() && !v.acceptance.empty(); ++i)
    s.acceptance[i] = v.acceptance[std::min(i, v.acceptance.size() - 1)];
  return s;
}

/// Seconds to draft for n sequences: `draft_tokens` decode steps of the draft model. Without a draft model and MTP
/// modules, a step is one layer of the model and its head. Excludes the cost of reading contexts.
PassRowTimes draft_times(const Request& r, const PassTimes& own, const std::optional<PassTimes>& draft,
                         Count sequences) {
  PassRowTimes::Knots knots;
  for (Count n = 1; n <= sequences; n *= 2) {
    const Ticks step =
        draft ? draft->rows.at(n) + draft->head.at(n) : own.rows.at(n) / r.model.arch.layers + own.head.at(n);
    knots.emplace_back(n, r.serving.draft_tokens * step);
  }
  return PassRowTimes(knots);
}

PassTimes times_of(const Request& r, const EngineLimits& limits, const std::optional<ModelCard>& draft) {
  const Request asked = for_inference(r);
  const PassSizes sizes{.most_rows = limits.pass_tokens,
                        .drafts = r.plan.mtp > 0 ? r.serving.draft_tokens : 0,
                        .adapters = r.serving.adapters};
  const Cluster& cluster = asked.hardware->cluster;
  const bool gathers = is_vllm(r) || replicates_tokens(r.layout);
  const Layout layout = gathers ? with_gathered_tokens(r.layout, cluster) : r.layout;
  const auto of = [&](const Arch& arch, const PassSizes& s) { return pass_times(arch, r.plan, layout, cluster, s); };
  PassTimes t = of(r.model.arch, sizes);
  if (r.engine) t.request = ticks(request_seconds(inference_estimator().parameters, *r.engine->inference));
  if (r.serving.draft_tokens > 0 && r.plan.mtp == 0)
    t.drafts =
        draft_times(r, t, draft ? std::optional(of(draft->arch, {.most_rows = limits.pass_tokens})) : std::nullopt,
                    limits.sequences);
  return t;
}

/// Time to move a block of the cache to or from host memory; 0 without swapping.
Ticks moved_block_time(const Request& r, const ServingEngine& e) {
  const BytesPerSecond link = r.hardware->cluster.device.host.link;
  if (r.serving.preemption != Preemption::swap || link.value <= 0) return 0;
  return ticks(Seconds(static_cast<double>(e.rules.scheduler.block.value) / link.value));
}

/// The engine's default rules, overridden by the request's options.
SchedulerRules scheduler_of(const Request& r, const EngineLimits& limits, const EngineMemory& memory) {
  const ServingInputs& v = r.serving;
  const InferenceStack stack = r.engine ? *r.engine->inference : InferenceStack();
  SchedulerRules s = scheduler_rules(r.model.arch, memory, limits, stack, r.stage);
  s.chunk_tokens = v.chunk_tokens;
  s.batching = batching_of(r);
  s.admission = v.admission;
  s.preemption = v.preemption;
  s.prefix_cache = v.prefix_cache && s.whole_groups > 0;
  s.speculation = speculation_of(v);
  return memory.states > 0 ? of_states_alone(s, memory.states, memory.state) : s;
}

}  // namespace

namespace {

ServingEngine memory_with(const Request& r, const std::optional<ModelCard>& draft) {
  ServingEngine e;
  e.limits = serving_limits(r);
  const EngineTerms terms = terms_of(r, draft);
  const double share = terms.grant == CacheGrant::share_of_free ? 1 : r.plan.memory_utilization;
  const Bytes granted = granted_memory(visible_memory(*r.hardware), share);
  e.memory = r.stage ? stage_engine_memory(r.model.arch, r.plan, r.layout, *r.stage, granted, e.limits, terms)
                     : engine_memory(r.model.arch, r.plan, r.layout, granted, e.limits, terms);
  e.rules = with_micro_batches({.scheduler = scheduler_of(r, e.limits, e.memory), .ranks = replicas(r.layout)},
                               r.model.arch.local.reach, ranks(r.layout, Group::pipeline), usual_tokens(r));
  return e;
}

ServingEngine without_times(const Request& r, const std::optional<ModelCard>& draft) {
  ServingEngine e = memory_with(r, draft);
  e.longest = EngineCapacity(r, e).longest(r);
  return e;
}

}  // namespace

ServingEngine serving_memory(const Request& r) { return memory_with(r, draft_of(r)); }

ServingEngine serving_room(const Request& r) { return without_times(r, draft_of(r)); }

ServingEngine serving_engine(const Request& r) {
  const std::optional<ModelCard> draft = draft_of(r);
  ServingEngine e = without_times(r, draft);
  if (!holds_a_request(r, e)) return e;
  e.times = times_of(r, e.limits, draft);
  e.times.moved_block = moved_block_time(r, e);
  return e;
}

bool holds_a_request(const Request& r, const ServingEngine& e) {
  return e.memory.kv_cache > Bytes() && e.longest >= usual_tokens(r);
}

double all_blocks(const Request& r, const ServingEngine& e) {
  return real(mul(e.rules.scheduler.blocks, e.rules.ranks, serving_engines(r)));
}

}  // namespace llmcalc
