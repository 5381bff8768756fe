#pragma once
/// Parameter counts of any model from its weight table (weights.hpp), and of some families from published closed forms.
/// A tied head is counted once; buffers (masks, RoPE tables) and router correction biases are not counted.
///
/// L layers, D hidden, A query heads, G key/value heads, d_h head width, F MLP width, V vocabulary, K learned
/// positions.

#include "calc/arch.hpp"
#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Parameters of a GPT-2-style model: all biases, LayerNorm, learned positions, tied head, A d_h = D:
///   4LD^2 + 2LDF + L(9D + F) + (V + K) D + 2D;   F = 4D: 12LD^2 + 13LD + (V + K) D + 2D.
/// Source: Radford et al. 2019 by its published sizes; the listings of Goon §1.6 are the same module.
Count gpt2_parameters(Count layers, Count hidden, Count mlp_width, Count vocabulary, Count positions);

/// Parameters of a Llama-style model: no biases, RMSNorm, RoPE, gated MLP, grouped heads:
///   L (2 A d_h D + 2 G d_h D + 3 D F + 2 D) + (1 or 2) V D + D.
/// Source: Touvron et al. 2023 (arXiv:2302.13971).
Count llama_parameters(Count layers, Count hidden, Count heads, Count kv_heads, Count head_dim, Count mlp_width,
                       Count vocabulary, bool tied);

/// Parameters of Wolfe's listing: GPT-2's block at F = 4D with an untied head. bias = false drops only the biases of
/// linear layers; LayerNorms keep their biases.
Count wolfe_parameters(Count layers, Count hidden, Count vocabulary, Count positions, bool bias);

/// Parameter counts summed over a whole model. attention includes projections, their biases, latent norms, qk-norms and
/// sinks; mlp includes routers, experts, shared experts and gates.
struct ParameterSums {
  Count embedding = 0, position = 0, attention = 0, mlp = 0, norm = 0, lm_head = 0;
  Count total() const;
};
ParameterSums parameters(const Arch& arch);

/// Parameters of one layer's softmax attention (grouped or latent), of one layer's dense MLP, and of all routed
/// experts in the model.
Count attention_parameters(const Arch& arch);
Count dense_mlp_parameters(const Arch& arch);
Count routed_parameters(const Arch& arch);

/// All parameters except those of routed experts to which a token is not routed.
Count active_parameters(const Arch& arch);
/// Kaplan's N: attention, MLP and norms, without the token and position tables and the head (arXiv:2001.08361).
Count non_embedding_parameters(const Arch& arch);
/// nanoGPT's N: the total minus the position table, including the tied head.
Count nanogpt_parameters(const Arch& arch);
/// N_mm: the weights used in a matmul for each token. These are the active weights, including the head (tied or not),
/// but excluding tables, norms and biases. Linear layers need 2 N_mm FLOPs per token in forward.
Count matmul_parameters(const Arch& arch);
/// The head's share of N_mm: V x embedding width, the dense layer before it in an encoder, and the projection to the
/// embedding width if the widths differ.
Count head_matmul_parameters(const Arch& arch);
/// The part of N_mm applied to one position per sequence: an encoder's pooler and the matrix of its two logits.
Count pooled_matmul_parameters(const Arch& arch);

/// Elements of Adafactor's state without momentum: rows + columns of each matrix, all elements of each vector. Experts
/// and the token embedding are factored one by one (arXiv:1804.04235).
Count adafactor_numbers(const Arch& arch);

}  // namespace llmcalc::textbook
