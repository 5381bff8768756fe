#include "ask/request/server.hpp"

#include <algorithm>

#include "ask/request/serving_inputs.hpp"
#include "calc/links/route.hpp"

namespace llmcalc {

bool is_vllm(const Request& r) { return r.engine && r.engine->name.starts_with("vllm"); }

EngineHost host_of(const Request& r) { return {std::nullopt, ranks(r.layout, Group::tensor), *r.hardware}; }

EngineLimits serving_limits(const Request& r) {
  EngineLimits l = usual_limits(host_of(r), 0);
  const ServingInputs& v = r.serving;
  l.pass_tokens = v.pass_tokens.value_or(l.pass_tokens);
  l.sequences = std::min(v.sequences.value_or(l.sequences), l.pass_tokens / (1 + v.draft_tokens));
  l.block_tokens = v.block_tokens;
  return l;
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
