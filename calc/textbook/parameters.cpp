#include "calc/textbook/parameters.hpp"

namespace llmcalc::textbook {
namespace {

Count matrices(const Arch& a) { return a.mlp == MlpKind::gated ? 3 : 2; }
Count moe_layers(const Arch& a) { return a.has_experts() ? a.moe.layers.size() : 0; }
Count dense_layers(const Arch& a) { return a.layers - moe_layers(a); }
Count softmax_layers(const Arch& a) { return a.layers - a.linear_layers.size(); }
Exact query_width(const Arch& a) { return Exact(a.heads) * a.head_dim; }
Exact kv_width(const Arch& a) { return Exact(a.kv_heads) * a.head_dim; }
Count latent_head(const Arch& a) { return a.latent.nope_dim + a.latent.rope_dim; }
bool projected(const Arch& a) { return a.embedding_width != 0 && a.embedding_width != a.hidden; }
Count table_width(const Arch& a) { return a.embedding_width != 0 ? a.embedding_width : a.hidden; }

/// What a norm learns per number of its width.
Count norm_weights(NormKind kind) {
  switch (kind) {
    case NormKind::layer_norm:
      return 2;
    case NormKind::layer_norm_no_bias:
    case NormKind::rms_norm:
      return 1;
    case NormKind::weight_free:
      break;
  }
  return 0;
}

Exact qk_norm_weights(const Arch& a) {
  switch (a.qk_norm) {
    case QkNorm::per_head:
      return Exact(2) * a.head_dim;
    case QkNorm::per_head_bias:
      return Exact(4) * a.head_dim;
    case QkNorm::each_head:
    case QkNorm::full:
      return query_width(a) + kv_width(a);
    case QkNorm::full_bias:
      return Exact(2) * (query_width(a) + kv_width(a));
    case QkNorm::none:
    case QkNorm::weight_free:
      break;
  }
  return 0;
}

/// Matrices of softmax attention: 2 D A d_h + 2 D G d_h, or those of latent attention (arXiv:2405.04434).
Exact attention_matrices(const Arch& a) {
  const Exact d = a.hidden;
  if (a.attention == AttentionKind::grouped) return Exact(2) * d * query_width(a) + Exact(2) * d * kv_width(a);
  const Latent& l = a.latent;
  const Exact q_out = Exact(a.heads) * latent_head(a);
  const Exact q = l.q_rank > 0 ? (d + q_out) * l.q_rank : d * q_out;
  const Exact kv_down = d * (l.kv_rank + l.rope_dim);
  const Exact kv_up = Exact(l.kv_rank) * a.heads * (l.nope_dim + l.v_dim);
  return q + kv_down + kv_up + Exact(a.heads) * l.v_dim * d;
}

/// Biases, norms and sinks of softmax attention.
Exact attention_vectors(const Arch& a) {
  const Exact out = a.attention_out_bias ? a.hidden : 0;
  const Exact sinks = a.attention_sinks ? a.heads : 0;
  if (a.attention == AttentionKind::grouped)
    return out + sinks + (a.qkv_bias ? query_width(a) + Exact(2) * kv_width(a) : Exact(0)) + qk_norm_weights(a);
  const Latent& l = a.latent;
  const Exact down_bias = a.qkv_bias ? Exact(l.q_rank) + l.kv_rank + l.rope_dim : Exact(0);
  return out + sinks + down_bias + l.q_rank + l.kv_rank;
}

Exact linear_attention_matrices(const Arch& a) { return Exact(5) * a.hidden * query_width(a); }

/// Bias of one MLP of width f: one per number of each up (and gate) projection, and D.
Exact mlp_bias(const Arch& a, Count f) { return Exact(matrices(a) - 1) * f + a.hidden; }
Exact mlp_matrices(const Arch& a, Count f) { return Exact(matrices(a)) * a.hidden * f; }
Count xielu_weights(const Arch& a) { return a.activation == Activation::xielu ? 2 : 0; }

/// Per layer with experts, without the routed experts: router, shared experts, their gate.
Exact router_and_shared(const Arch& a) {
  const Moe& m = a.moe;
  const Exact router = Exact(a.hidden) * m.experts;
  return router + Exact(m.shared_experts) * mlp_matrices(a, m.shared_width) + (m.shared_gate ? a.hidden : 0);
}
Exact router_bias(const Arch& a) { return a.moe.router_bias ? a.moe.experts : 0; }

Exact mlp_sum(const Arch& a) {
  const Exact moe = router_and_shared(a) + router_bias(a) + Exact(a.moe.experts) * expert_parameters(a);
  return Exact(dense_layers(a)) * dense_mlp_parameters(a) + Exact(moe_layers(a)) * moe;
}
Exact norm_sum(const Arch& a) {
  const Exact norms = Exact(a.layers) * a.norms_per_layer + (a.final_norm ? 1 : 0) + (a.embedding_norm ? 1 : 0);
  return norms * norm_weights(a.norm) * a.hidden;
}

/// rows + columns of the matrices of one MLP of width f.
Exact mlp_edges(const Arch& a, Count f) { return Exact(matrices(a)) * (Exact(a.hidden) + f); }

Exact attention_edges(const Arch& a) {
  const Exact d = a.hidden;
  if (a.attention == AttentionKind::grouped) return Exact(4) * d + Exact(2) * query_width(a) + Exact(2) * kv_width(a);
  const Latent& l = a.latent;
  const Exact q_out = Exact(a.heads) * latent_head(a);
  const Exact q = l.q_rank > 0 ? d + Exact(2) * l.q_rank + q_out : d + q_out;
  const Exact kv = d + Exact(2) * l.kv_rank + l.rope_dim + Exact(a.heads) * (l.nope_dim + l.v_dim);
  return q + kv + Exact(a.heads) * l.v_dim + d;
}

Exact attention_factored(const Arch& a) {
  const Exact linear = Exact(5) * (Exact(a.hidden) + query_width(a)) + query_width(a);
  return Exact(softmax_layers(a)) * (attention_edges(a) + attention_vectors(a)) +
         Exact(a.linear_layers.size()) * linear;
}

Exact moe_factored(const Arch& a) {
  const Moe& m = a.moe;
  const Exact expert = mlp_edges(a, m.width) + (m.expert_bias ? mlp_bias(a, m.width) : Exact(0));
  const Exact shared = m.shared_experts > 0 ? mlp_edges(a, m.shared_experts * m.shared_width) : Exact(0);
  const Exact gate = m.shared_gate ? a.hidden + 1 : 0;
  return Exact(a.hidden) + m.experts + router_bias(a) + Exact(m.experts) * expert + shared + gate;
}

Exact tables_factored(const Arch& a) {
  const Exact w = table_width(a);
  const Exact table = w + a.vocabulary;
  const Exact projections = projected(a) ? Exact(2) * (w + a.hidden) : Exact(0);
  const Exact positions = a.position == Position::learned ? Exact(a.position_rows) + a.hidden : Exact(0);
  const Exact head = a.tied_head ? Exact(0) : table;
  return table + projections + positions + head + (a.head_bias ? a.vocabulary : 0);
}

}  // namespace

Count gpt2_parameters(Count layers, Count hidden, Count mlp_width, Count vocabulary, Count positions) {
  const Exact l = layers, d = hidden, f = mlp_width;
  return (Exact(4) * l * d * d + Exact(2) * l * d * f + l * (Exact(9) * d + f) + (Exact(vocabulary) + positions) * d +
          Exact(2) * d)
      .count();
}

Count llama_parameters(Count layers, Count hidden, Count heads, Count kv_heads, Count head_dim, Count mlp_width,
                       Count vocabulary, bool tied) {
  const Exact d = hidden, q = Exact(heads) * head_dim, kv = Exact(kv_heads) * head_dim;
  const Exact layer = Exact(2) * q * d + Exact(2) * kv * d + Exact(3) * d * mlp_width + Exact(2) * d;
  return (Exact(layers) * layer + Exact(tied ? 1 : 2) * vocabulary * d + d).count();
}

Count wolfe_parameters(Count layers, Count hidden, Count vocabulary, Count positions, bool bias) {
  const Exact l = layers, d = hidden, v = vocabulary;
  const Exact block = Exact(12) * d * d + Exact(bias ? 13 : 4) * d;
  return (l * block + (Exact(2) * v + positions) * d + Exact(2) * d + (bias ? v : Exact(0))).count();
}

Count ParameterSums::total() const { return (Exact(embedding) + position + attention + mlp + norm + lm_head).count(); }

ParameterSums parameters(const Arch& a) {
  const Exact table = Exact(a.vocabulary) * table_width(a);
  const Exact projections = projected(a) ? Exact(2) * table_width(a) * a.hidden : Exact(0);
  const Exact head = (a.tied_head ? Exact(0) : table) + (a.head_bias ? a.vocabulary : 0);
  const Exact attention = Exact(softmax_layers(a)) * attention_parameters(a) +
                          Exact(a.linear_layers.size()) * linear_attention_parameters(a);
  return {.embedding = (table + projections).count(),
          .position = a.position == Position::learned ? (Exact(a.position_rows) * a.hidden).count() : 0,
          .attention = attention.count(),
          .mlp = mlp_sum(a).count(),
          .norm = norm_sum(a).count(),
          .lm_head = head.count()};
}

Count attention_parameters(const Arch& a) { return (attention_matrices(a) + attention_vectors(a)).count(); }

Count linear_attention_parameters(const Arch& a) { return (linear_attention_matrices(a) + query_width(a)).count(); }

Count dense_mlp_parameters(const Arch& a) {
  const Exact bias = a.mlp_bias ? mlp_bias(a, a.mlp_width) : Exact(0);
  return (mlp_matrices(a, a.mlp_width) + bias + xielu_weights(a)).count();
}

Count expert_parameters(const Arch& a) {
  const Exact bias = a.moe.expert_bias ? mlp_bias(a, a.moe.width) : Exact(0);
  return (mlp_matrices(a, a.moe.width) + bias).count();
}

Count active_parameters(const Arch& a) {
  const Exact idle = Exact(moe_layers(a)) * (a.moe.experts - a.moe.top_k) * expert_parameters(a);
  return (Exact(parameters(a).total()) - idle).count();
}

Count non_embedding_parameters(const Arch& a) {
  const ParameterSums s = parameters(a);
  return (Exact(s.attention) + s.mlp + s.norm).count();
}

Count nanogpt_parameters(const Arch& a) {
  const ParameterSums s = parameters(a);
  return (Exact(s.total()) - s.position).count();
}

Count matmul_parameters(const Arch& a) {
  const Exact attention =
      Exact(softmax_layers(a)) * attention_matrices(a) + Exact(a.linear_layers.size()) * linear_attention_matrices(a);
  const Exact moe = router_and_shared(a) + Exact(a.moe.top_k) * mlp_matrices(a, a.moe.width);
  const Exact mlp = Exact(dense_layers(a)) * mlp_matrices(a, a.mlp_width) + Exact(moe_layers(a)) * moe;
  const Exact into = projected(a) ? Exact(table_width(a)) * a.hidden : Exact(0);
  return (attention + mlp + into + head_matmul_parameters(a)).count();
}

Count head_matmul_parameters(const Arch& a) {
  const Exact w = table_width(a);
  return (w * a.vocabulary + (projected(a) ? w * a.hidden : Exact(0))).count();
}

Count adafactor_numbers(const Arch& a) {
  const Exact dense = mlp_edges(a, a.mlp_width) + (a.mlp_bias ? mlp_bias(a, a.mlp_width) : Exact(0)) + xielu_weights(a);
  return (attention_factored(a) + Exact(dense_layers(a)) * dense + Exact(moe_layers(a)) * moe_factored(a) +
          norm_sum(a) + tables_factored(a))
      .count();
}

}  // namespace llmcalc::textbook
