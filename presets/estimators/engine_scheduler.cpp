#include "presets/estimators/engine_scheduler.hpp"

#include <algorithm>

#include "calc/links/route.hpp"
#include "presets/estimators/attending_layers.hpp"

namespace llmcalc {

namespace {

/// Layers per group of vLLM's hybrid cache (kv_cache_utils.py): the number of layers of the rarer kind, or of the other
/// kind if that is less than 1.5 times as large. Incomplete groups are padded.
Count group_layers(Count whole, Count limited) {
  const Count fewer = std::min(whole, limited), more = std::max(whole, limited);
  return 2 * more < 3 * fewer ? more : fewer;
}

/// Whether all caches, apart from states, are windows of one length: no layer attends to all tokens or keeps pooled
/// keys of tokens outside its window.
bool has_windows_alone(const Arch& arch) {
  bool any = false;
  for (const LayerKind& kind : layer_kinds(arch)) {
    if (!caches_keys(arch, kind)) continue;
    const bool pools = arch.mixer(kind.mixer).attention == AttentionKind::compressed;
    if (pools || !kind.reach.limited() || kind.reach != arch.local.reach) return false;
    any = true;
  }
  return any;
}

/// Sets the blocks of the cache. If layers of two kinds share the cache, a block holds tokens of one group of layers,
/// so the same bytes are split into more blocks: a block of all layers becomes one block per group, without padding. If
/// all layers have a limited reach, they form one group. A recurrent state takes as many blocks as its bytes require.
void use_cache(const Arch& arch, const EngineMemory& memory, SchedulerRules& rules) {
  const auto [whole, limited] = attending_layers(arch);
  rules.blocks = memory.blocks;
  Bytes block = rules.block_tokens * memory.token_cache;  // over all layers
  if (limited > 0 && whole > 0) {
    const Count size = group_layers(whole, limited), all = add(whole, limited);
    rules.whole_groups = ceil_div(whole, size);
    rules.limited_groups = ceil_div(limited, size);
    rules.blocks = mul(memory.blocks, all) / size;
    block = Bytes(ceil_div(mul(block.value, size), all));
  } else if (has_windows_alone(arch)) {
    rules.whole_groups = 0;
    rules.limited_groups = 1;
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
