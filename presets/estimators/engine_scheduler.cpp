#include "presets/estimators/engine_scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "calc/links/route.hpp"
#include "calc/parallel/expert.hpp"
#include "presets/estimators/attending_layers.hpp"

namespace llmcalc {

namespace {

/// Number of layers per group in vLLM's hybrid cache (kv_cache_utils.py): the number of layers of the rarer kind, or
/// of the other kind if that number is less than 1.5 times as large. Incomplete groups are padded.
Count group_layers(Count whole, Count limited) {
  const Count fewer = std::min(whole, limited), more = std::max(whole, limited);
  return 2 * more < 3 * fewer ? more : fewer;
}

/// Whether all caches except recurrent states hold windows of one length: no layer attends to all tokens or stores
/// pooled keys of tokens outside its window.
bool has_windows_alone(const Arch& arch, const std::optional<ModelChunk>& stage) {
  bool any = false;
  for (const LayerKind& kind : layer_kinds(arch)) {
    if (!caches_keys(arch, kind) || layers_held(kind, stage) == 0) continue;
    const bool pools = arch.mixer(kind.mixer).attention == AttentionKind::compressed;
    if (pools || !kind.reach.limited() || kind.reach != arch.local.reach) return false;
    any = true;
  }
  return any;
}

/// Sets the cache blocks for two kinds of layers that share the cache. A block stores tokens of one group of layers,
/// and all blocks have the same size in bytes. The group with fewer bytes per token therefore has longer blocks, by
/// an integer factor (vLLM, kv_cache_utils.py: unify_kv_cache_spec_page_size).
void use_groups(const AttendingLayers& layers, const EngineMemory& memory, SchedulerRules& rules) {
  const Count size = group_layers(layers.whole, layers.limited), all = add(layers.whole, layers.limited);
  rules.whole_groups = ceil_div(layers.whole, size);
  rules.limited_groups = ceil_div(layers.limited, size);
  const Count of_limited = memory.limited_token_cache.value * size / layers.limited;
  const Count of_whole = (memory.token_cache - memory.limited_token_cache).value * size / layers.whole;
  if (of_limited == of_whole || std::min(of_limited, of_whole) <= 0) {
    rules.blocks = mul(memory.blocks, all) / size;
    rules.block = Bytes(ceil_div(mul(rules.block_tokens, memory.token_cache.value, size), all));
    return;
  }
  rules.block = rules.block_tokens * Bytes(std::max(of_limited, of_whole));
  rules.limited_block_tokens = mul(rules.block_tokens, std::max<Count>(1, of_whole / of_limited));
  rules.block_tokens = mul(rules.block_tokens, std::max<Count>(1, of_limited / of_whole));
  rules.blocks = std::max(Bytes(), memory.kv_cache).value / rules.block.value;
}

/// Sets the cache blocks for two kinds of layers of an engine that allocates each layer's cache separately, without
/// padding (llama.cpp, llama-kv-cache-iswa.cpp). A block is the greatest common divisor of the bytes per token of both
/// kinds, as a unit of count.
void use_separate_caches(const EngineMemory& memory, SchedulerRules& rules) {
  const Count of_limited = memory.limited_token_cache.value, of_whole = memory.token_cache.value - of_limited;
  const Count unit = std::gcd(of_whole, of_limited);
  if (unit == 0) return;
  rules.whole_groups = of_whole / unit;
  rules.limited_groups = of_limited / unit;
  rules.block = rules.block_tokens * Bytes(unit);
  rules.blocks = std::max(Bytes(), memory.kv_cache).value / rules.block.value;
}

/// Sets the blocks of the cache. A block over all layers becomes one block per group of layers. Layers with chunks
/// count as layers with full attention (vLLM disables its hybrid cache for them,
/// github.com/vllm-project/vllm/issues/16118). If all layers have a window, they form one group. A state occupies
/// blocks according to its bytes.
void use_cache(const Arch& arch, const EngineMemory& memory, const std::optional<ModelChunk>& stage,
               SchedulerRules& rules) {
  const AttendingLayers layers = attending_layers(arch, stage);
  const bool chunked = arch.local.reach.chunked;
  rules.blocks = memory.blocks;
  rules.block = rules.block_tokens * slot_bytes(memory);  // bytes of a block over all layers
  if (memory.window_share > 0) {
    // One pool of slots for each kind of layer; the pool of windows suffices for whole sequences of its share.
  } else if (layers.limited > 0 && layers.whole > 0 && !chunked) {
    if (memory.grant == CacheGrant::whole)
      use_separate_caches(memory, rules);
    else
      use_groups(layers, memory, rules);
  } else if (!chunked && has_windows_alone(arch, stage)) {
    rules.whole_groups = 0;
    rules.limited_groups = 1;
  }
  if (memory.state > Bytes() && rules.block > Bytes())
    rules.state_blocks = ceil_div(memory.state.value, rules.block.value);
}

}  // namespace

SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack, const std::optional<ModelChunk>& stage) {
  SchedulerRules rules{.pass_tokens = limits.pass_tokens,
                       .sequences = std::min(limits.sequences, limits.pass_tokens),
                       .poll_passes = limits.poll_passes,
                       .batching = batching_of(stack),
                       .block_tokens = limits.block_tokens};
  use_cache(arch, memory, stage, rules);
  return rules;
}

Layout with_gathered_tokens(Layout layout, const Cluster& cluster) {
  if (replicates_tokens(layout)) return with_replicated_tokens(layout);
  const Count experts = ranks(layout, Group::expert);
  const Count over = nodes(route(cluster, layout, Group::expert));
  layout.once_per_rank = experts > 1 && over == 1;
  if (over > 1) layout.expert_nodes = over;
  return layout;
}

}  // namespace llmcalc
