#pragma once
/// Attention and its gradient as the graphs that cuDNN's flash engines know, operation by operation.

#include "model/cuda/cudnn/graph.hpp"
#include "model/cuda/sdpa.hpp"

namespace llmcalc::model::cuda::cudnn {

/// The numbers of the graphs' tensors. Statistics are log-sum-exps (sequences, heads, tokens): cuDNN before 9.26 does
/// not read them in another order, nor its own sums, though it accepts other strides.
enum SdpaTensor : std::int64_t {
  q_id = 1,
  k_id,
  v_id,
  o_id,
  statistics_id,
  scale_id,
  masked_id,  ///< the score of pairs that the mask hides: minus infinity
  // backward
  d_o_id,
  dq_id,
  dk_id,
  dv_id,
  one_id,
  delta_id,   ///< float (sequences, heads, tokens): o . d_o
  dq_sum_id,  ///< float (sequences, heads, tokens, qk_dim): what blocks of keys add to; not if deterministic
};

/// Either, as the shape says.
Graph sdpa_graph(const SdpaShape& s);

}  // namespace llmcalc::model::cuda::cudnn
