#pragma once
/// Closed forms of the activations saved for backward: the inputs of every operator whose gradient needs them (Goon
/// footnote 16, Korthikanti et al. 2022, arXiv:2205.05198). A dropout mask has one byte per element. Residual
/// additions, scaling and masking save no tensors.

#include "calc/plan.hpp"
#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// One layer that processes one micro-batch: B sequences of S tokens, p bytes per element, on one rank of T-way tensor
/// and C-way context parallelism.
struct LayerActivations {
  Count batch = 1, seq = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, mlp_width = 0, precision = 2;
  bool gated = false, layer_norm = true, flash = false, attention_dropout = false, hidden_dropout = false,
       parallel_block = false, norm_stats = false, sequence_parallel = false;
  SoftmaxStore softmax = SoftmaxStore::minimal;
  GluStore glu = GluStore::all;
  Recompute stored = Recompute::none;
  Count tensor_parallel = 1, context_parallel = 1;
};

/// Bytes saved per token, with u = 1/T under sequence parallelism, else 1, a = A/T, g = max(G/T, 1), f = F/T:
///   norms in and out 4pDu (2pDu in a parallel block); q pad_h; k, v 2pgd_h; attention output pad_h;
///   scores naive, seed (2p + 1 dropout) aS, minimal (p + (p + 1) dropout) aS; flash 4a, the float32 log-sum-exp;
///   masks 2Du; MLP plain 2pf, gated 4pf, 3pf fused, 2pf with the product recomputed;
///   norm statistics in float32, if counted: LayerNorm 2 x 8u, RMSNorm 2 x 4u, one norm fewer in a parallel block.
/// All of this times B S / C. Selective recomputation drops the scores; full recomputation saves only pDu.
Fraction layer_activations(const LayerActivations& l);

/// One layer of Korthikanti et al., Table 2: p = 2, E = 4, dropout on, MHA. Full recomputation saves the layer's input,
/// which sequence parallelism shards across the T ranks.
struct KorthikantiLayer {
  Count seq = 0, batch = 1, hidden = 0, heads = 0, tensor_parallel = 1;
  bool sequence_parallel = false;
};
Fraction korthikanti_layer(const KorthikantiLayer& k, Recompute stored = Recompute::none);

/// Activations of the first pipeline stage with enough micro-batches: the activations of L (1 + (P-1)/(Pv)) layers, or
/// of L layers for v = 1 (1F1B).
Fraction korthikanti_first_stage(const KorthikantiLayer& k, Count layers, Count pipeline, Count interleaved,
                                 Recompute stored = Recompute::none);
/// Activations outside the layers in the first stage, with sequence parallelism (§4.3): (sbh/t) (P + [P = 1] 4 (1 +
/// V/h)). These are the embedding dropout masks of P micro-batches and, if the rank has the head, the inputs of the
/// final norm and the head, and float32 logits.
Fraction korthikanti_extras(const KorthikantiLayer& k, Count vocabulary, Count pipeline);

/// Size of the logits during the loss: bytes_per_logit B S V / (T chunks). bytes_per_logit is 4 for a float32
/// log-softmax; p for the compute format, if the gradient overwrites the logits (karpathy/llm.c); p + 8 for 16-bit
/// logits, a float32 copy and a float32 gradient, all live at once.
Fraction logits_activations(Count batch, Count seq, Count vocabulary, Count bytes_per_logit, Count tensor_parallel = 1,
                            Count chunks = 1);

/// Mixture of experts, one layer, balanced routing. Per token, k' = capacity x k:
///   8 n_E (float32 logits and probabilities) + k'pD (dispatched copies) + k' m p F_e + k'pD (outputs) + 4k (gates)
///   + n_s m p F_s;   m = 2 plain; 4, 3 or 2 gated, as in layer_activations.
struct MoeActivations {
  Count batch = 1, seq = 0, hidden = 0, experts = 0, top_k = 0, width = 0, shared_experts = 0, shared_width = 0,
        precision = 2;
  bool gated = true;
  GluStore glu = GluStore::all;
  Fraction capacity = 1;
};
Fraction moe_activations(const MoeActivations& m);

}  // namespace llmcalc::textbook
