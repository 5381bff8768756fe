#pragma once
/// Closed forms of the source documents ("seeds"), as corrected in docs/seeds.md, with their omissions. MHA with A d_h
/// = D, a plain MLP of width E D, a single precision of p bytes. T tensor-parallel ranks, where T divides A and D.

#include <cstdint>

#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Number of weights in the blocks, (4 + 2E) L D^2 / T: Goon (2.2), (2.12), (E.1). Excludes tables, biases, norms, GQA
/// and gated MLPs. If `tables` is not 0, that many rows of width D (V, or V + K) are added unsharded, as in Goon
/// (2.17).
Fraction seed_parameters(Count layers, Count hidden, Fraction expansion, Count tables = 0, Count tensor_parallel = 1);

/// Activations that the blocks of all L layers save for backward: the inputs of every operator, and masks of one byte
/// per element.
struct SeedActivations {
  Count batch = 1, seq = 0, layers = 0, hidden = 0, heads = 0, expansion = 4, precision = 2, tensor_parallel = 1;
  bool sequence_parallel = false;
};
Fraction seed_attention_activations(const SeedActivations& s);  ///< BLS ((5p+1) D + (2p+1) A S); Goon (2.5), (2.13)
Fraction seed_mlp_activations(const SeedActivations& s);        ///< (2Ep + p + 1) B D L S; Goon (2.6), (2.13)
Fraction seed_norm_activations(const SeedActivations& s);       ///< 2p B D L S
Fraction seed_activations(const SeedActivations& s);            ///< sum of the three above; Goon (2.7), (2.14)

/// Batch size above which mixed precision saves memory: 6 D^2 / (8 D S + A S^2); Goon (2.9). E = 4; without
/// parallelism, or with tensor and sequence parallelism.
Fraction mixed_precision_break_even_batch(Count hidden, Count heads, Count seq);
/// Sequence length at which the S^2 term of the activations (E = 4, p = 2) equals the linear term: 34 D / 5 A.
Fraction activation_crossover_seq(Count hidden, Count heads);

/// FLOPs of forward and backward: 12 B D L S (S + (2+E) D) for full attention without the head; Goon (3.2).
Flops seed_train_flops(Count batch, Count layers, Count seq, Count hidden, Count expansion);
/// Attention core's share of these FLOPs: S / (S + (2+E) D).
Fraction attention_flops_share(Count seq, Count hidden, Count expansion);
/// Sequence length at which the attention core needs as many FLOPs as the weight matrices: (2 + E) D.
Count flops_crossover_seq(Count hidden, Count expansion);

/// Size of the KV cache for MHA: 2 p B D L S / T; Goon (6.1).
Fraction seed_kv_cache(Count batch, Count seq, Count hidden, Count layers, Count precision, Count tensor_parallel = 1);
/// Number of tokens B S above which the KV cache is larger than the blocks' weights: (2 + E) D. Goon §6 drops the
/// factor.
Count cache_crossover_tokens(Count hidden, Count expansion);

/// Arithmetic intensity of a (B,S,D) by (D,D) matmul: (1/p) 2BSD / (2BS + D); Goon (D.1), which drops the 2.
double seed_matmul_intensity(Count batch, Count seq, Count hidden, double precision);
/// Intensity of a decode step with N parameters: (2BN + 4BLDc) / (pN + 2pBLDc). Goon (7.2) leaves this blank; at p = 2
/// it starts at B and saturates at (N + 2LDc) / (pLDc).
double seed_decode_intensity(Count params, Count batch, Count layers, Count hidden, Count context, double precision);
/// Intensity of a decode step in the limit B -> infinity.
double seed_decode_intensity_limit(Count params, Count layers, Count hidden, Count context, double precision);
/// Intensity of one MLP matrix in decode: 2BD / (p (2B + D)); Goon (D.2).
double seed_decode_mlp_intensity(Count batch, Count hidden, double precision);
/// Intensity of one attention layer in decode: (8BD^2 + 4BDS) / (p (4D^2 + 2BDS)), without activations; Goon (D.3).
double seed_decode_attention_intensity(Count batch, Count hidden, Count context, double precision);

/// GPT-3 in mixed precision (Goon §2.6): L = 96, D = 12288, A = 96, V = 50257; N = 12LD^2 + VD.
struct Gpt3CaseStudy {
  Count params = 0;
  Bytes weights, gradients, optimizer;
  Bytes linear_per_token;                      ///< activations: 34DL per token, (2.18)
  Bytes quadratic_per_token2;                  ///< activations: 5AL per token and key
  Bytes sharded_states;                        ///< size of the states at T = 8, (2.20), with an unsharded embedding
  Fraction sharded_linear, sharded_quadratic;  ///< activations at T = 8, per token, and per token and key
  Bytes states() const { return weights + gradients + optimizer; }
  /// Size of the activations of one sequence of S tokens relative to the states: (2.19) for S = 2048, without its
  /// factor B.
  double activation_ratio(Count seq) const;
};
enum class Gpt3States : std::uint8_t {
  corrected,  ///< 2 + 4 + 12 bytes per parameter, (2.3) and (2.4)
  printed     ///< 1 + 2 + 6: reproduces the printed digits, in GiB where the document has TiB
};
Gpt3CaseStudy gpt3_case_study(Gpt3States states);

}  // namespace llmcalc::textbook
