#include <algorithm>
#include <array>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "evidence/engine_memory_table.hpp"
#include "presets/load.hpp"
#include "report/serving.hpp"
#include "report/software.hpp"

namespace llmcalc {
namespace {

bool is_vllm(const Request& r) { return r.engine && r.engine->name.starts_with("vllm"); }

EngineHost host_of(const Request& r) { return {std::nullopt, ranks(r.layout, Group::tensor), *r.hardware}; }

EngineLimits limits_of(const Request& r) {
  EngineLimits l = usual_limits(host_of(r), 0);
  const ServingInputs& v = r.serving;
  l.pass_tokens = v.pass_tokens.value_or(l.pass_tokens);
  l.sequences = std::min(v.sequences.value_or(l.sequences), l.pass_tokens / (1 + v.draft_tokens));
  l.block_tokens = v.block_tokens;
  return l;
}

/// The samplers and libraries of engines other than vLLM take an unknown amount, and count as nothing.
EngineTerms terms_of(const Request& r, const std::optional<ModelCard>& draft) {
  EngineTerms t = is_vllm(r) ? engine_terms(host_of(r)) : EngineTerms{};
  if (!draft) return t;
  Plan plan = r.plan;
  plan.weight_precision = plan.weight_precision.formats_alone();  // the bytes of a checkpoint are the model's
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

/// Seconds to draft for n sequences: so many decode steps of the draft model; or, without one and without modules, of
/// one layer of the model itself and its head. Contexts are not counted.
PassRowTimes draft_times(const Request& r, const PassTimes& own, const std::optional<PassTimes>& draft,
                         Count sequences) {
  PassRowTimes::Knots knots;
  for (Count n = 1; n <= sequences; n *= 2) {
    const Ticks step =
        draft ? draft->rows.at(n) + draft->head.at(n) : own.rows.at(n) / r.model.arch.layers + own.head.at(n);
    knots.emplace_back(n, r.serving.draft_tokens * step);
  }
  return PassRowTimes(std::move(knots));
}

PassTimes times_of(const Request& r, const EngineLimits& limits, const std::optional<ModelCard>& draft) {
  const Request asked = for_inference(r);
  const PassSizes sizes{.most_rows = limits.pass_tokens, .drafts = r.plan.mtp > 0 ? r.serving.draft_tokens : 0};
  const auto of = [&](const Arch& arch) { return pass_times(arch, r.plan, r.layout, asked.hardware->cluster, sizes); };
  PassTimes t = of(r.model.arch);
  if (r.engine) t.request = ticks(request_seconds(inference_estimator().parameters, *r.engine->inference));
  if (r.serving.draft_tokens > 0 && r.plan.mtp == 0)
    t.drafts = draft_times(r, t, draft ? std::optional(of(draft->arch)) : std::nullopt, limits.sequences);
  return t;
}

/// The time of a block of the cache on its way to the host or back; 0 where nothing goes there.
Ticks moved_block_time(const Request& r, const ServingEngine& e) {
  const BytesPerSecond link = r.hardware->cluster.device.host.link;
  if (r.serving.preemption != Preemption::swap || link.value <= 0) return 0;
  return ticks(Seconds(static_cast<double>(mul(e.limits.block_tokens, e.memory.token_cache.value)) / link.value));
}

SchedulerRules scheduler_of(const Request& r, const EngineLimits& limits, const EngineMemory& memory) {
  const ServingInputs& v = r.serving;
  const bool prompts_first = r.engine && r.engine->inference->prompts_first && !r.gave("--batching");
  SchedulerRules s{.pass_tokens = limits.pass_tokens,
                   .sequences = limits.sequences,
                   .chunk_tokens = v.chunk_tokens,
                   .batching = prompts_first ? Batching::prompts_first : v.batching,
                   .admission = v.admission,
                   .preemption = v.preemption,
                   .block_tokens = limits.block_tokens,
                   .blocks = std::max<Count>(memory.blocks, 0),
                   .prefix_cache = v.prefix_cache,
                   .speculation = speculation_of(v)};
  return s;
}

}  // namespace

ServingEngine serving_engine(const Request& r) {
  const std::optional<ModelCard> draft = draft_of(r);
  ServingEngine e;
  e.limits = limits_of(r);
  const Bytes granted = granted_memory(visible_memory(*r.hardware), r.plan.memory_utilization);
  e.memory = engine_memory(r.model.arch, r.plan, r.layout, granted, e.limits, terms_of(r, draft));
  e.rules = {.scheduler = scheduler_of(r, e.limits, e.memory), .ranks = replicas(r.layout)};
  e.longest = longest_sequence(e.rules.scheduler, r.model.arch.local.reach);
  if (!holds_a_request(r, e)) return e;
  e.times = times_of(r, e.limits, draft);
  e.times.moved_block = moved_block_time(r, e);
  return e;
}

Count usual_tokens(const Request& r) {
  const ServingInputs& v = r.serving;
  if (!v.log.empty() || !v.lengths.empty()) return 2;
  return add(v.shared_prefix, mul(v.turns, add(r.plan.prompt, r.plan.generate)));
}

bool holds_a_request(const Request& r, const ServingEngine& e) {
  return e.memory.kv_cache > Bytes() && e.longest >= usual_tokens(r);
}

Count serving_engines(const Request& r) {
  const ServingInputs& v = r.serving;
  return v.pools ? add(v.pools->prefill, v.pools->decode) : v.replicas;
}

Count serving_gpus(const Request& r) { return mul(serving_engines(r), devices(r.layout)); }

}  // namespace llmcalc
