#pragma once
/// Small architectures with distinct prime widths, so that no two terms of a count coincide; and two published ones.

#include "calc/arch.hpp"

namespace llmcalc::test {

/// GPT-2's block: 3 layers, D 22, 2 heads of width 11, MLP 47, vocabulary 101, 19 positions.
inline Arch tiny_gpt() {
  Arch a;
  a.layers = 3;
  a.hidden = a.embedding_width = 22;
  a.vocabulary = 101;
  a.heads = a.kv_heads = 2;
  a.head_dim = 11;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp_width = 47;
  a.position = Position::learned;
  a.position_rows = 19;
  a.tied_head = true;
  return a;
}

/// Llama's block with A d_h != D: 2 layers, D 26, 6 heads of width 5 in 3 groups, gated MLP 37, vocabulary 103.
inline Arch tiny_llama() {
  Arch a;
  a.layers = 2;
  a.hidden = a.embedding_width = 26;
  a.vocabulary = 103;
  a.heads = 6;
  a.kv_heads = 3;
  a.head_dim = 5;
  a.mlp = MlpKind::gated;
  a.mlp_width = 37;
  a.norm = NormKind::rms_norm;
  return a;
}

/// tiny_llama with 8 experts of width 7, 2 per token, and a shared expert of width 11, on layer 1 of 2.
inline Arch tiny_moe() {
  Arch a = tiny_llama();
  a.moe.experts = 8;
  a.moe.top_k = 2;
  a.moe.width = 7;
  a.moe.shared_experts = 1;
  a.moe.shared_width = 11;
  a.moe.layers = LayerSet::every(1, 1, 2);
  return a;
}

/// tiny_llama with latent attention: ranks 17 and 13, 6 heads of width 5 + 2 and 3.
inline Arch tiny_latent() {
  Arch a = tiny_llama();
  a.attention = AttentionKind::latent;
  a.latent = {.q_rank = 17, .kv_rank = 13, .nope_dim = 5, .rope_dim = 2, .v_dim = 3};
  return a;
}

/// Brown et al. 2020, with GPT-2's block: L 96, D 12288, V 50257, K 2048.
inline Arch gpt3() {
  Arch a = tiny_gpt();
  a.layers = 96;
  a.hidden = a.embedding_width = 12288;
  a.vocabulary = 50257;
  a.heads = a.kv_heads = 96;
  a.head_dim = 128;
  a.mlp_width = 49152;
  a.position_rows = 2048;
  return a;
}

/// Llama-3-8B (arXiv:2407.21783).
inline Arch llama3_8b() {
  Arch a = tiny_llama();
  a.layers = 32;
  a.hidden = a.embedding_width = 4096;
  a.vocabulary = 128256;
  a.heads = 32;
  a.kv_heads = 8;
  a.head_dim = 128;
  a.mlp_width = 14336;
  return a;
}

}  // namespace llmcalc::test
