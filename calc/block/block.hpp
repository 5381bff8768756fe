#pragma once
/// The operators of a model: the only description of it, from which parameters, FLOPs, bytes and traffic are derived.

#include "calc/arch.hpp"
#include "calc/arch/layer_kinds.hpp"
#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// The tokens of one pass: `sequences` sequences, each with `queries` new tokens after `past` cached ones. `encoded`:
/// number of these tokens that the encoder of an encoder-decoder reads. In training, encoder and decoder have
/// `queries` tokens each.
struct Step {
  Count sequences = 1, queries = 1, past = 0, encoded = 0;
  bool training =
      false;  ///< the loss covers every position, and dropout may be on; false: the head reads only the last position
  bool decodes = false;         ///< whether it is a decode step
  bool verifies = false;        ///< whether the model's head reads every position, to verify drafts
  bool absorbed = false;        ///< latent attention: whether queries attend to the latent cache directly
  bool expanded_cache = false;  ///< latent attention: whether the cache stores every head's keys and values
  bool dropout = false;
  bool fused_glu = false;  ///< whether act(g) * u runs in one kernel
  Count lora_rank = 0;     ///< rank of the LoRA adapters; > 0: all other weights are frozen
  LoraTargets lora_targets{};
  Frozen frozen{};               ///< frozen parts, if no adapters are trained
  Count mtp = 0;                 ///< number of MTP modules, which run after the head
  LowPrecision low_precision{};  ///< which of the blocks' matmuls use the plan's format if it has fewer than 16 bits
  constexpr Count tokens() const { return mul(sequences, queries); }
};

/// The step of one half of an encoder-decoder: the encoder reads the prompt and is idle afterward; the decoder begins
/// with one token after the prompt. In training, and for all other models, the step is unchanged.
Step half_step(const Arch& arch, const Step& step, bool encoder);

/// Operators from the token embedding (with learned positions, embedding norm and dropout) to the first block's input.
OpList embedding_ops(const Arch& arch, const Step& step);

/// Operators of one block of the given kind.
OpList block_ops(const Arch& arch, const LayerKind& kind, const Step& step);

/// Operators of the final norm, the head and, in training, the loss.
OpList head_ops(const Arch& arch, const Step& step);

/// Operators of an MTP module's input: token embedding, norms and projection. W [h ; e] is computed as W_h h + W_e e,
/// with the same parameters, FLOPs and bytes moved, because both halves of the concatenated tensor are written and
/// read in either case. With several residual streams W_h reads each stream, and W_e e is added to all (DeepSeek-V4).
/// The projection is replicated on every tensor-parallel rank.
OpList mtp_input_ops(const Arch& arch, const Step& step);
/// Operators of an MTP module's norm and head and, in training, its loss. The head reads all positions, including the
/// last k positions of a sequence, for which module k has no target token (Megatron-Core masks them in the loss).
OpList mtp_head_ops(const Arch& arch, const Step& step);

}  // namespace llmcalc
