#include "evidence/engine_scheduler.hpp"

#include <algorithm>

#include "evidence/attending_layers.hpp"

namespace llmcalc {

namespace {

/// Groups of layers with as many layers each, as far as they divide: vLLM's hybrid cache makes groups as large as the
/// smaller of the two kinds (kv_cache_utils.py), and a block holds tokens of one group.
void use_groups(const Arch& arch, const EngineMemory& memory, SchedulerRules& rules) {
  const auto [whole, limited] = attending_layers(arch);
  rules.blocks = memory.blocks;
  if (limited == 0 || whole <= 0) return;
  const Count size = std::min(whole, limited);
  rules.whole_groups = ceil_div(whole, size);
  rules.limited_groups = ceil_div(limited, size);
  rules.blocks = mul(memory.blocks, rules.whole_groups + rules.limited_groups);
}

}  // namespace

SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack) {
  SchedulerRules rules{.pass_tokens = limits.pass_tokens,
                       .sequences = std::min(limits.sequences, limits.pass_tokens),
                       .batching = stack.prompts_first ? Batching::prompts_first : Batching::continuous,
                       .block_tokens = limits.block_tokens};
  use_groups(arch, memory, rules);
  return rules;
}

}  // namespace llmcalc
