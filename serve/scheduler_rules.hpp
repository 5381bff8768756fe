#pragma once
/// Rules by which an engine fills its passes.

#include <cstdint>

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "serve/drafts.hpp"
#include "serve/request.hpp"

namespace llmcalc {

enum class Batching : std::uint8_t {
  continuous,     ///< prompts in chunks beside decoding sequences (vLLM V1)
  prompts_first,  ///< passes of prompts alone as long as one can be admitted, else of decoding sequences (vLLM V0)
  fixed           ///< a batch is admitted when the last one has ended; who ends early leaves a row of padding behind
};
template <>
inline constexpr auto choices<Batching> =
    std::array{Choice{Batching::continuous, "continuous"}, Choice{Batching::prompts_first, "prompts-first"},
               Choice{Batching::fixed, "static"}};

enum class Admission : std::uint8_t {
  first_come,  ///< by arrival; the newest in progress is preempted
  priority     ///< by priority, then arrival; the last by the same order is preempted
};
template <>
inline constexpr auto choices<Admission> =
    std::array{Choice{Admission::first_come, "fcfs"}, Choice{Admission::priority, "priority"}};

enum class Preemption : std::uint8_t {
  recompute,  ///< the cache of a preempted sequence is given up, and computed again
  swap        ///< it goes to the host's memory and comes back
};
template <>
inline constexpr auto choices<Preemption> =
    std::array{Choice{Preemption::recompute, "recompute"}, Choice{Preemption::swap, "swap"}};

struct SchedulerRules {
  Count pass_tokens = 8192;  ///< in a pass, at most (max_num_batched_tokens)
  Count sequences = 1024;    ///< in progress, at most (max_num_seqs); no more than pass_tokens
  Count chunk_tokens = 0;    ///< of one prompt in a pass, at most (long_prefill_token_threshold); 0: any number
  Batching batching = Batching::continuous;
  Admission admission = Admission::first_come;
  Preemption preemption = Preemption::recompute;
  bool prompts_only = false;      ///< requests leave with their first token, for an engine that decodes
  bool whole_prompt_fits = true;  ///< admits a prompt in chunks only if there is room for all (vLLM since 0.18)

  // the cache: a sequence of c tokens holds ceil(c / block_tokens) blocks for every group of layers that see all
  // tokens, as many, up to those of its window and one, for every group of a limited reach, and blocks for its states
  Count block_tokens = 16;
  Count blocks = Count{1} << 40;               ///< of the cache of one replica
  Count whole_groups = 1, limited_groups = 0;  ///< groups of layers (vLLM's hybrid cache); one of whole reach or more,
                                               ///< none where the cache is states or windows alone
  Count state_blocks = 0;                      ///< of a sequence, for the states of linear attention
  bool prefix_cache = false;                   ///< blocks of finished requests are kept until their room is needed;
                                               ///< with groups of whole reach alone
  Speculation speculation{};
};

/// The rules where all that a sequence leaves in the cache is its state: a block is one, of which `states` fit, however
/// long the sequences are. Nothing is kept of a prompt.
SchedulerRules of_states_alone(SchedulerRules rules, Count states);
/// Blocks that a sequence holds for its first `tokens` tokens.
Count blocks_of(const SchedulerRules& rules, const Reach& reach, Count tokens);
/// Tokens from which on the groups of a limited reach hold no further blocks.
Count saturating_tokens(const SchedulerRules& rules, const Reach& reach);

}  // namespace llmcalc
