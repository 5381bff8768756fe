#pragma once
/// Rules by which an engine composes its passes.

#include <cstdint>

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "serve/drafts.hpp"
#include "serve/request.hpp"

namespace llmcalc {

enum class Batching : std::uint8_t {
  continuous,     ///< prompt chunks and decoding sequences in one pass (vLLM V1)
  prompts_first,  ///< prompt-only passes while a prompt can be admitted, otherwise decode passes (vLLM V0)
  fixed           ///< a batch is admitted when the previous batch has ended; sequences that end early remain as
                  ///< padding
};
template <>
inline constexpr auto choices<Batching> =
    std::array{Choice{Batching::continuous, "continuous"}, Choice{Batching::prompts_first, "prompts-first"},
               Choice{Batching::fixed, "static"}};

enum class Admission : std::uint8_t {
  first_come,  ///< in order of arrival; preempts the newest sequence in progress
  priority     ///< by priority, then by arrival; preempts the last sequence in this order
};
template <>
inline constexpr auto choices<Admission> =
    std::array{Choice{Admission::first_come, "fcfs"}, Choice{Admission::priority, "priority"}};

enum class Preemption : std::uint8_t {
  recompute,  ///< the cache of a preempted sequence is dropped and recomputed
  swap        ///< the cache of a preempted sequence is moved to host memory and back
};
template <>
inline constexpr auto choices<Preemption> =
    std::array{Choice{Preemption::recompute, "recompute"}, Choice{Preemption::swap, "swap"}};

struct SchedulerRules {
  Count pass_tokens = 8192;  ///< maximum number of tokens per pass (max_num_batched_tokens)
  Count sequences = 1024;    ///< maximum number of sequences in progress (max_num_seqs); at most pass_tokens
  Count chunk_tokens = 0;    ///< maximum number of tokens of one prompt per pass (long_prefill_token_threshold); 0:
                             ///< unlimited
  Count poll_passes = 1;     ///< number of consecutive decode passes after which the engine looks at new requests; it
                             ///< also looks after every pass with prompts, and if it has no other work (SGLang,
                             ///< scheduler_recv_interval)
  Batching batching = Batching::continuous;
  Admission admission = Admission::first_come;
  Preemption preemption = Preemption::recompute;
  bool prompts_only = false;      ///< whether requests leave for a decode engine after their first token
  bool whole_prompt_fits = true;  ///< whether a chunked prompt is admitted only if it fits completely (vLLM since 0.18)

  // Cache: a sequence of c tokens has ceil(c / block_tokens) blocks for every group of layers that see all tokens,
  // ceil(c / limited_block_tokens) blocks for every group of limited reach, but at most one more than its window
  // needs, and blocks for its states.
  Count block_tokens = 16;
  Count limited_block_tokens = 0;  ///< number of tokens per block of limited reach; 0: block_tokens. All blocks have
                                   ///< the same size in bytes, so layers with fewer bytes per token have more tokens
                                   ///< per block
  Count blocks = Count{1} << 40;   ///< number of blocks in the cache of one rank
  Bytes block{};                   ///< bytes of a block on one device
  Count whole_groups = 1, limited_groups = 0;  ///< numbers of groups of layers (vLLM's hybrid cache): at least one
                                               ///< group of whole reach, unless the cache holds only states or windows
  Count state_blocks = 0;                      ///< number of blocks per sequence for the states of linear attention
  bool prefix_cache = false;                   ///< whether the blocks of finished requests are kept until they are
                                               ///< evicted; only in layers of whole reach
  Speculation speculation{};
};

/// The rules for a cache that holds only recurrent states: a block is one state of `each` bytes, and `states` states
/// fit, regardless of sequence length. Prompts are not cached.
SchedulerRules of_states_alone(SchedulerRules rules, Count states, Bytes each = {});
/// Number of blocks that a sequence uses for its first `tokens` tokens.
Count blocks_of(const SchedulerRules& rules, const Reach& reach, Count tokens);
/// Maximum number of blocks of a sequence of `tokens` tokens. The maximum is reached during prefill, when a group of
/// limited reach also stores the tokens of the pass (vLLM, SlidingWindowSpec.max_memory_usage_bytes).
Count most_blocks_of(const SchedulerRules& rules, const Reach& reach, Count tokens);
/// Tokens per block in the groups of limited reach.
constexpr Count limited_block(const SchedulerRules& rules) {
  return rules.limited_block_tokens > 0 ? rules.limited_block_tokens : rules.block_tokens;
}
/// Number of tokens beyond which the groups of limited reach need no more blocks.
Count saturating_tokens(const SchedulerRules& rules, const Reach& reach);

}  // namespace llmcalc
