#pragma once
/// Closed forms of the roofline: arithmetic intensities, and the number of tokens at which a pass becomes
/// compute-bound.

#include "calc/textbook/exact.hpp"

namespace llmcalc::textbook {

/// Ridge point: FLOP/s over bytes/s, both decimal (Goon App. C.1, which labels decimal numbers TiB).
double ridge_point(double peak, double bandwidth);

/// Roofline seconds: max(compute, memory) if the two overlap, otherwise their sum.
double roofline_seconds(double flops, double bytes, double peak, double bandwidth, bool overlapped = true);

/// A matmul of (m,k) by (k,n), with each operand moved once.
struct Gemm {
  Count m = 0, n = 0, k = 0, a_bytes = 2, b_bytes = 2, c_bytes = 2;
  Flops flops() const;  ///< 2mnk
  Bytes bytes() const;  ///< p_a mk + p_b kn + p_c mn
};
double gemm_intensity(const Gemm& g);
double gemm_seconds(const Gemm& g, double peak, double bandwidth);

/// Intensity of an element-wise operation with C FLOPs per element: C / (bytes read + bytes written). Goon App.
/// D.1 counts only the bytes read.
double elementwise_intensity(double flops, double bytes_read, double bytes_written);

/// Tokens per pass at which a matmul with p_w-byte weights becomes compute-bound if only weights are moved: ridge p_w /
/// 2.
double critical_batch(double ridge, double weight_bytes);
/// Critical batch if the (t, I) input and the (t, J) output also count as moved: ridge p_w IJ / (2IJ - ridge p_a (I +
/// J)). Infinite if activations keep the pass memory-bound at any batch.
double critical_batch(double ridge, double weight_bytes, Count in, Count out, double activation_bytes);

/// Intensity of decode attention at any batch and context: 4 A d_h c / (2 G d_h c p) = 2A / (G p).
double decode_attention_intensity(Count heads, Count kv_heads, double kv_bytes);
/// Intensity of decode attention, including reading q and writing the output.
double decode_attention_intensity(Count heads, Count kv_heads, double kv_bytes, Count head_dim, Count context,
                                  double activation_bytes);
/// Intensity of absorbed latent attention: 2A (2r + d_r) / ((r + d_r) p).
double latent_decode_intensity(Count heads, Count kv_rank, Count rope_dim, double kv_bytes);

/// Bytes moved by a flash forward pass over one sequence without cache reuse (an upper bound): K and V are read once
/// per block of B_r queries, half as often under a causal mask: p A d_h S (2 + 2 ceil(S/B_r)).
double flash_attention_bytes(Count heads, Count head_dim, Count seq, Count query_block, double precision, bool causal);

}  // namespace llmcalc::textbook
