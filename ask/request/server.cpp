#include "ask/request/server.hpp"

#include <algorithm>

#include "ask/request/serving_inputs.hpp"
#include "calc/links/route.hpp"
#include "presets/estimators/engine_limits.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "text/leading_number.hpp"

namespace llmcalc {

bool has_engine_memory(const Request& r) {
  return r.hardware && r.engine && r.engine->inference && r.plan.kv_cache && !r.model.arch.is_encoder_decoder();
}

bool is_vllm(const Request& r) { return r.engine && r.engine->name.starts_with("vllm"); }

EngineHost host_of(const Request& r) {
  std::optional<Count> minor;
  if (is_vllm(r) && r.engine->version.name.starts_with("0.")) minor = leading_whole(r.engine->version.name.substr(2));
  return {minor, ranks(r.layout, Group::tensor), *r.hardware};
}

namespace {

/// The engine's default limits for the request's prompts.
EngineLimits limits_by_default(const Request& r) {
  const std::optional<EngineLaw> law = r.engine ? r.engine->server : std::nullopt;
  EngineLimits l = default_limits(host_of(r), law);
  if (law && law->whole_prompts) l.pass_tokens = std::max(l.pass_tokens, mul(r.plan.batch, r.plan.prompt));
  return l;
}

}  // namespace

EngineLimits serving_limits(const Request& r) {
  EngineLimits l = limits_by_default(r);
  const ServingInputs& v = r.serving;
  l.pass_tokens = v.pass_tokens.value_or(l.pass_tokens);
  l.sequences = std::min(v.sequences.value_or(l.sequences), l.pass_tokens / (1 + v.draft_tokens));
  l.block_tokens = v.block_tokens.value_or(l.block_tokens);
  l.poll_passes = v.poll_passes;
  return l;
}

Batching batching_of(const Request& r) {
  if (r.gave("--batching") || !r.engine || !r.engine->inference) return r.serving.batching;
  return batching_of(*r.engine->inference);
}

double serving_utilization(const Request& r) {
  constexpr double usual = 0.9;
  if (!r.engine || !r.engine->server) return usual;
  return default_utilization(*r.engine->server, r.hardware->cluster.device.memory, ranks(r.layout, Group::tensor),
                             ranks(r.layout, Group::pipeline));
}

bool has_lengths_of_its_own(const Request& r) { return !r.serving.log.empty() || !r.serving.lengths.empty(); }

Count usual_tokens(const Request& r) {
  const ServingInputs& v = r.serving;
  if (has_lengths_of_its_own(r)) return 2;
  return add(v.shared_prefix, mul(v.turns, add(r.plan.prompt, r.plan.generate)));
}

Count serving_engines(const Request& r) {
  const ServingInputs& v = r.serving;
  return v.pools ? add(v.pools->prefill, v.pools->decode) : v.replicas;
}

Count serving_gpus(const Request& r) { return mul(serving_engines(r), devices(r.layout)); }

Link link_between_engines(const Request& r) { return joining_link(r.hardware->cluster, serving_gpus(r)); }

void settle_serving(Request& r) {
  const ServingInputs& v = r.serving;
  if (!has_traffic(v) || has_lengths_of_its_own(r) || r.gave("--prompt")) return;
  const Count room = (r.model.arch.context - v.shared_prefix) / v.turns - r.plan.generate;
  if (room > 0) r.plan.prompt = std::min(r.plan.prompt, room);
}

}  // namespace llmcalc
