#include "evidence/engine_scheduler.hpp"

#include <algorithm>

#include "calc/route.hpp"
#include "evidence/attending_layers.hpp"

namespace llmcalc {

namespace {

/// Layers of a group of vLLM's hybrid cache (kv_cache_utils.py): as many as the rarer of the two kinds has, or, where
/// the other has less than 1.5 times as many, as many as that one. Groups that layers do not fill are padded.
Count group_layers(Count whole, Count limited) {
  const Count fewer = std::min(whole, limited), more = std::max(whole, limited);
  return 2 * more < 3 * fewer ? more : fewer;
}

/// The blocks of the cache. Where layers of two kinds share it, a block holds tokens of one group of layers, so that
/// as many bytes are more blocks: one of all layers is as many as there are groups, without padding. A state takes
/// blocks by its bytes.
void use_cache(const Arch& arch, const EngineMemory& memory, SchedulerRules& rules) {
  const auto [whole, limited] = attending_layers(arch);
  rules.blocks = memory.blocks;
  Bytes block = rules.block_tokens * memory.token_cache;  // of all layers
  if (limited > 0 && whole > 0) {
    const Count size = group_layers(whole, limited), all = add(whole, limited);
    rules.whole_groups = ceil_div(whole, size);
    rules.limited_groups = ceil_div(limited, size);
    rules.blocks = mul(memory.blocks, all) / size;
    block = Bytes(ceil_div(mul(block.value, size), all));
  }
  if (memory.state > Bytes() && block > Bytes()) rules.state_blocks = ceil_div(memory.state.value, block.value);
}

}  // namespace

SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack) {
  SchedulerRules rules{.pass_tokens = limits.pass_tokens,
                       .sequences = std::min(limits.sequences, limits.pass_tokens),
                       .batching = stack.prompts_first ? Batching::prompts_first : Batching::continuous,

                       .block_tokens = limits.block_tokens};
  use_cache(arch, memory, rules);
  return rules;
}

Layout with_gathered_tokens(Layout layout, const Cluster& cluster) {
  const Count experts = ranks(layout, Group::expert);
  const Count over = nodes(route(cluster, layout, Group::expert));
  layout.once_per_rank = experts > 1 && over == 1;
  if (over > 1) layout.expert_nodes = over;
  return layout;
}

}  // namespace llmcalc
