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

/// Writes either direction, as the shape says, into a graph: a Graph, or a test's that computes it.
template <typename G>
class SdpaGraph {
 public:
  using Tensor = typename G::Tensor;
  SdpaGraph(G& g, const SdpaShape& s) : g_(g), s_(s) {}
  void write() { s_.backward ? backward() : forward(); }

 private:
  static constexpr cudnnDataType_t bf16_type = CUDNN_DATA_BFLOAT16;
  static Sizes swapped(const Sizes& s) { return {s[0], s[1], s[3], s[2]}; }
  Sizes pairs() const { return {s_.sequences, s_.heads, s_.tokens, s_.tokens}; }
  Sizes rows(Count width = 1) const { return {s_.sequences, s_.heads, s_.tokens, width}; }
  Sizes kv(Count width) const { return {s_.sequences, s_.kv_heads, s_.tokens, width}; }
  static Sizes strides(const HeadStrides& h) { return {h.sequence, h.head, h.token, 1}; }
  /// (sequence, token, head) without gaps.
  Sizes output_strides() const { return {s_.tokens * s_.heads * s_.v_dim, s_.v_dim, s_.heads * s_.v_dim, 1}; }

  Tensor q() { return g_.tensor(q_id, rows(s_.qk_dim), strides(s_.q), bf16_type); }
  Tensor k_transposed() { return g_.tensor(k_id, swapped(kv(s_.qk_dim)), swapped(strides(s_.k)), bf16_type); }
  Tensor statistics() { return g_.tensor(statistics_id, rows(), packed(rows()), CUDNN_DATA_FLOAT); }
  Tensor with(cudnnPointwiseMode_t mode, const Tensor& a, const Tensor& b) {
    return g_.pointwise(mode, {a, b}, g_.passing(a.size));
  }

  /// Key j where query i >= j.
  Tensor masked(const Tensor& scores) {
    const Tensor row = g_.index(scores, 2), column = g_.index(scores, 3);
    const Tensor seen = g_.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, g_.passing(pairs(), CUDNN_DATA_BOOLEAN));
    return g_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, g_.scalar(masked_id), seen}, g_.passing(pairs()));
  }

  void forward() {
    const Tensor q_rows = q(), kt = k_transposed();
    const Tensor v = g_.tensor(v_id, kv(s_.v_dim), strides(s_.v), bf16_type);
    const Tensor o = g_.tensor(o_id, rows(s_.v_dim), output_strides(), bf16_type);
    const Tensor products = g_.matmul(q_rows, kt, g_.passing(pairs()));
    const Tensor scores = masked(with(CUDNN_POINTWISE_MUL, products, g_.scalar(scale_id)));
    const Tensor most = g_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, g_.passing(rows()));
    const Tensor e = g_.pointwise(CUDNN_POINTWISE_EXP, {with(CUDNN_POINTWISE_SUB, scores, most)}, g_.passing(pairs()));
    const Tensor sum = g_.reduce(CUDNN_REDUCE_TENSOR_ADD, e, g_.passing(rows()));
    const Tensor log_sum = g_.pointwise(CUDNN_POINTWISE_LOG, {sum}, g_.passing(rows()));
    g_.pointwise(CUDNN_POINTWISE_ADD, {most, log_sum}, statistics());
    const Tensor p = g_.pointwise(CUDNN_POINTWISE_DIV, {e, sum}, g_.passing(pairs(), bf16_type));
    g_.matmul(p, v, o);
  }

  /// Of pairs: the other way round, in the format that products read.
  Tensor turned(const Tensor& x) {
    return g_.reshape(x, g_.passing(swapped(x.size), swapped(packed(x.size)), bf16_type));
  }

  /// Gradients of keys or values: of every head of the queries, then summed over those that share a KV head.
  void head_gradient(const Tensor& by_key, const Tensor& rows_of, const Tensor& to) {
    if (s_.heads == s_.kv_heads) {
      g_.matmul(by_key, rows_of, to);
      return;
    }
    const Tensor all = g_.matmul(by_key, rows_of, g_.passing(rows(to.size[3]), bf16_type));
    g_.reduce(CUDNN_REDUCE_TENSOR_ADD, all, to);
  }

  void backward() {
    const Tensor q_rows = q(), kt = k_transposed();
    const Tensor vt = g_.tensor(v_id, swapped(kv(s_.v_dim)), swapped(strides(s_.v)), bf16_type);
    const Tensor o = g_.tensor(o_id, rows(s_.v_dim), output_strides(), bf16_type);
    const Tensor d_o = g_.tensor(d_o_id, rows(s_.v_dim), output_strides(), bf16_type);
    const Tensor dq = g_.tensor(dq_id, rows(s_.qk_dim), strides(s_.dq), bf16_type);
    const Tensor dk = g_.tensor(dk_id, kv(s_.qk_dim), strides(s_.dk), bf16_type);
    const Tensor dv = g_.tensor(dv_id, kv(s_.v_dim), strides(s_.dv), bf16_type);
    const Tensor scale = g_.scalar(scale_id);

    const Tensor row_sum = g_.reduce(CUDNN_REDUCE_TENSOR_ADD, with(CUDNN_POINTWISE_MUL, d_o, o), g_.passing(rows()));
    const Tensor delta = g_.tensor(delta_id, rows(), packed(rows()), CUDNN_DATA_FLOAT);
    g_.pointwise(CUDNN_POINTWISE_MUL, {row_sum, g_.scalar(one_id)}, delta);  // dropout's place

    const Tensor scores = with(CUDNN_POINTWISE_MUL, g_.matmul(q_rows, kt, g_.passing(pairs())), scale);
    const Tensor log_p = masked(with(CUDNN_POINTWISE_SUB, scores, statistics()));
    const Tensor p = g_.pointwise(CUDNN_POINTWISE_EXP, {log_p}, g_.passing(pairs()));
    head_gradient(turned(p), d_o, dv);

    const Tensor dp = g_.matmul(d_o, vt, g_.passing(pairs()));
    const Tensor ds =
        with(CUDNN_POINTWISE_MUL, with(CUDNN_POINTWISE_MUL, with(CUDNN_POINTWISE_SUB, dp, delta), p), scale);
    head_gradient(turned(ds), q_rows, dk);

    const Tensor k = g_.reshape(kt, g_.passing(swapped(kt.size), strides(s_.k), CUDNN_DATA_FLOAT));
    if (s_.deterministic) {
      g_.matmul(ds, k, dq);
      return;
    }
    const Tensor sum = g_.tensor(dq_sum_id, rows(s_.qk_dim), packed(rows(s_.qk_dim)), CUDNN_DATA_FLOAT);
    g_.matmul(ds, k, sum);
    g_.pointwise(CUDNN_POINTWISE_IDENTITY, {sum}, dq);
  }

  G& g_;
  const SdpaShape& s_;
};

Graph sdpa_graph(const SdpaShape& s);

}  // namespace llmcalc::model::cuda::cudnn
