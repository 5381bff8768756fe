#pragma once
/// FLOPs in closed form: matmuls only, 1 multiply-add = 2. Element-wise work (softmax, norms, activations, RoPE,
/// dropout) is never counted. Tokens t = B S.

#include <cstdint>

#include "calc/arch.hpp"
#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

// ---- Query-key pairs

/// Which pairs of a query and a key count as work.
enum class Pairs : std::uint8_t {
  full,         ///< S (S + past): Goon (3.2), PaLM, Megatron, Korthikanti
  causal_half,  ///< S^2/2 + S past: FlashAttention's benchmark, Kaplan, current Megatron-LM
  causal_exact  ///< S (S + 1)/2 + S past: what decode steps sum to
};

/// Pairs per head and sequence. A window (0: none) counts the token itself, so that causal row i of a sequence scores
/// min(i, window) keys; full counts the window for every row, causal_half the area under min(x, window).
Fraction attention_pairs(Pairs convention, Count seq, Count past = 0, Count window = 0);

// ---- A model's forward pass

/// Which positions the head is applied to.
enum class Head : std::uint8_t { all, last, none };

/// B sequences of S new tokens after `past` cached ones.
struct Pass {
  Count batch = 1, seq = 1, past = 0;
  Pairs pairs = Pairs::full;
  Head head = Head::all;
  bool absorbed = false;  ///< latent attention scores against the latent rows: 2A (2 r_kv + d_r) instead of
                          ///< 2A (d_n + d_r + d_v) per pair; the projections cost the same
};

/// linear: 2 t (N_mm - head), and linear attention's state; core: QK' and AV over the scored pairs; head: 2 V D per
/// position.
struct ForwardFlops {
  Flops linear, core, head;
  Flops total() const { return linear + core + head; }
};
ForwardFlops forward_flops(const Arch& arch, const Pass& pass);

/// QK' alone, and all MLPs (router and shared experts included), over all layers.
Flops scores_flops(const Arch& arch, const Pass& pass);
Flops mlp_flops(const Arch& arch, const Pass& pass);

// ---- Training

enum class Recomputed : std::uint8_t { none, selective, full };

/// Forward and backward. Backward is exactly twice forward in every matmul (dgrad and wgrad); a flash backward makes
/// the scores again (QK', 5 products for 4: half a core more where keys are as wide as values); selective recomputation
/// repeats the core, full the blocks, never the head.
Flops train_flops(const ForwardFlops& forward, Recomputed recomputed = Recomputed::none, Flops scores_again = {});

/// Backward of y = x W, x (tokens, in), W (in, out): dgrad 2tIJ and wgrad 2tIJ; wgrad alone where x needs no gradient.
/// Goon §3.1 arrives at 5tIJ by broadcasting the activation's derivative over I.
Flops linear_backward_flops(Count tokens, Count in, Count out, bool input_needs_grad = true);

// ---- Named formulas

/// 6 N D (Kaplan et al. 2020; Goon (3.4)). Which N is the caller's to say.
Flops six_nd(Count params, Count tokens);

/// Per token 6N + 12 L A d_h S, full attention (PaLM, arXiv:2204.02311, App. B); causal: 6N + 6 L A d_h S.
Flops palm_flops_per_token(Count params, Count layers, Count heads, Count head_dim, Count seq, bool causal = false);

/// Forward per token 2N + 2 L S d_attn, N without embedding (Kaplan et al. 2020, Table 1): the causal_half count.
Flops kaplan_flops_per_token(Count non_embedding, Count layers, Count seq, Count attention_width);

/// One step of a GPT: A d_h = D, F = 4D, full attention, head included. Expanded, so that every term is whole:
///   none       72BLSD^2 (1 + S/6D   + V/12DL)
///   full       96BLSD^2 (1 + S/6D   + V/16LD)   Narayanan et al. 2021 (arXiv:2104.04473)
///   selective  72BLSD^2 (1 + S/3D   + V/12DL)   as Korthikanti et al. print it (arXiv:2205.05198)
///              72BLSD^2 (1 + S/4.5D + V/12DL)   exact: QK' and AV run once more, 4BS^2D of 12
struct GptStep {
  Count batch = 0, seq = 0, layers = 0, hidden = 0, vocabulary = 0;
};
Flops megatron_flops(const GptStep& step, Recomputed recomputed, bool as_printed = false);

}  // namespace llmcalc::textbook
