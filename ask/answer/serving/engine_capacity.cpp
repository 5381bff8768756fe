#include "ask/answer/serving/engine_capacity.hpp"

#include <algorithm>

#include "ask/answer/serving/engine.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "calc/search.hpp"
#include "presets/estimators/engine_memory_table.hpp"

namespace llmcalc {
namespace {

/// Scheduler rules with the cache blocks available to one sequence of a batch. Micro-batches split both batch and
/// blocks.
SchedulerRules of_one(const SchedulerRules& rules, Count batch, Count parts) {
  SchedulerRules one = rules;
  one.blocks /= ceil_div(batch, parts);
  return one;
}

/// The largest n for which `holds` is true; longest_searched if it is true for all. An overflow counts as false.
template <typename Holds>
Count largest(const Holds& holds) {
  const auto exceeds = [&](Count n) {
    try {
      return !holds(n);
    } catch (const Overflow&) {
      return true;
    }
  };
  return first(longest_searched + 1, exceeds).value_or(longest_searched + 1) - 1;
}

Count parameters_in(const Prices& prices, const ModelChunk& chunk) {
  Count all = 0;
  for_each_row(prices, chunk, [&](const LayerPrice& row, Count n) { all = add(all, mul(n, row.learned.total)); });
  return all;
}

Request with_plan(Request r, Plan plan) {
  r.plan = std::move(plan);
  return r;
}

}  // namespace

EngineCapacity::EngineCapacity(const Request& r) : EngineCapacity(r, serving_memory(r)) {}

EngineCapacity::EngineCapacity(const Request& r, ServingEngine engine)
    : batch_(r.plan.batch),
      tokens_(has_traffic(r.serving) ? usual_tokens(r) : add(r.plan.prompt, r.plan.generate)),
      learned_rows_(r.model.arch.learned_rows()),
      reach_(r.model.arch.local.reach),
      law_(r.engine && r.engine->server ? *r.engine->server : EngineLaw()),
      tensors_(inference_memory(price_holdings(r.model.arch, r.plan, r.layout), {}, r.plan, r.layout)),
      engine_(std::move(engine)),
      parts_(engine_.rules.ranks / replicas(r.layout)) {
  if (r.stage) tensors_.parameters = parameters_in(price_holdings(r.model.arch, r.plan, r.layout), *r.stage);
}

Count EngineCapacity::longest_in_pass() const {
  if (engine_.memory.kv_cache <= Bytes()) return 0;
  const Count fits = longest_sequence(of_one(engine_.rules.scheduler, batch_, parts_), reach_);
  return learned_rows_ > 0 ? std::min(fits, learned_rows_) : fits;
}

Count EngineCapacity::longest(const Request& r) const {
  if (!has_whole_prompts()) return longest_in_pass();
  return largest([&](Count n) { return EngineCapacity(with_plan(r, with_context(r.plan, n))).longest_in_pass() >= n; });
}

Count EngineCapacity::most_in_pass() const {
  SchedulerRules any = engine_.rules.scheduler;
  any.sequences = any.blocks;
  return mul(most_sequences(any, reach_, tokens_, 0), parts_);
}

Count EngineCapacity::most(const Request& r) const {
  if (!has_whole_prompts()) return most_in_pass();
  return largest([&](Count n) { return EngineCapacity(with_plan(r, with_batch(r.plan, n))).most_in_pass() >= n; });
}

Limits EngineCapacity::limits(const Request& r) const {
  const Count tokens = longest(r);
  const bool is_limited = tokens < (has_whole_prompts() ? longest_searched : any_length);
  return {.max_batch = most(r), .max_context = is_limited ? std::optional(tokens) : std::nullopt};
}

const EstimateInterval& EngineCapacity::interval() const {
  const EngineMemoryTable& t = engine_memory_table();
  return law_.grant == CacheGrant::whole ? t.process : t.pool;
}

Bytes EngineCapacity::cache() const {
  const SchedulerRules& rules = engine_.rules.scheduler;
  return mul(most_blocks_of(rules, reach_, tokens_), batch_) * rules.block;
}

Memory EngineCapacity::memory() const {
  const EngineMemory& e = engine_.memory;
  Memory m = tensors_;
  m.weights = e.weights;
  m.media_encoders = e.media_encoders;
  m.kv_cache = cache();
  m.workspace = e.activations;
  m.process = e.libraries + e.graphs + e.padding + e.draft + e.adapters;
  m.total = m.peak = m.weights + m.media_encoders + m.kv_cache + m.workspace + m.process;
  return m;
}

std::optional<RelativeInterval> cache_interval(const Request& r, const EngineMemory& m) {
  const bool is_rest = r.engine && r.engine->server && r.engine->server->grant != CacheGrant::whole;
  if (!is_rest || m.kv_cache <= Bytes()) return std::nullopt;
  const double share = (engine_memory_table().pool.factor - 1) * real(m.granted.value) / real(m.kv_cache.value);
  return RelativeInterval{std::max(0.0, 1 - share), 1 + share};
}

}  // namespace llmcalc
