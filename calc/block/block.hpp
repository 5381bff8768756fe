#pragma once
/// The operators of a model: the one description from which parameters, FLOPs, bytes and traffic are derived.

#include "calc/arch.hpp"
#include "calc/arch/layer_kinds.hpp"
#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// The tokens of one pass: `sequences` of `queries` new tokens after `past` cached ones. `encoded`: of them, those that
/// an encoder reads before a decoder; in training both have `queries` tokens.
struct Step {
  Count sequences = 1, queries = 1, past = 0, encoded = 0;
  bool training = false;  ///< loss over every position and dropout may be on; else the head sees the last position only
  bool verifies = false;  ///< the model's head sees every position: they are drafts
  bool absorbed = false;  ///< latent attention: queries meet the latent cache directly
  bool expanded_cache = false;  ///< latent attention: the cache holds every head's keys and values
  bool dropout = false;
  bool fused_glu = false;  ///< act(gate) * up in one kernel
  Count lora_rank = 0;     ///< of adapters beside the matrices; all else is frozen then
  LoraTargets lora_targets{};
  Frozen frozen{};      ///< what else is not trained
  Count mtp = 0;        ///< modules that predict further tokens (Mtp), which run behind the head
  Narrowed narrowed{};  ///< which products of the blocks are in the plan's format, where that has fewer than 16 bits
  constexpr Count tokens() const { return mul(sequences, queries); }
};

/// The step as one half of an encoder-decoder sees it: an encoder reads the prompt and has nothing to do later, a
/// decoder begins with one token behind it. The same step for all other models.
Step half_step(const Arch& arch, const Step& step, bool encoder);

/// Token table (and learned positions, embedding norm, dropout) up to the first block's input.
OpList embedding_ops(const Arch& arch, const Step& step);

/// One block of the given kind.
OpList block_ops(const Arch& arch, const LayerKind& kind, const Step& step);

/// Final norm, head and, in training, the loss.
OpList head_ops(const Arch& arch, const Step& step);

/// A module's input (Mtp): token table, norms and projection. W [h ; e] is W_h h + W_e e here: the same parameters,
/// FLOPs and bytes that move, since the two halves of the concatenated tensor are written and read either way. Of
/// several residual streams W_h reads each, and W_e e is added to all (DeepSeek-V4). Every tensor-parallel rank holds
/// the projection whole.
OpList mtp_input_ops(const Arch& arch, const Step& step);
/// A module's norm, head and, in training, the loss of its own. It sees all positions: the last k of a sequence, which
/// module k has no token to predict for, are not left out (Megatron-Core masks them in the loss).
OpList mtp_head_ops(const Arch& arch, const Step& step);

}  // namespace llmcalc
