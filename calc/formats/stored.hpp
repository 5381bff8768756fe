#pragma once
/// Number formats in which an operator's weights and cache are stored.

#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// Formats of an operator's weights; some formats leave tables, head, norms and biases in the compute format.
struct Stored {
  DType matrix, vector;
  DType operand, result;  ///< for a matmul: formats of the activation or gradient that it reads, and of its output
  DType factor;           ///< for a matmul: format in which it reads the weight matrix
};
/// The component whose format an operator's weights use. Norms of queries, keys and latent rows have the format of
/// norms, although their parameters count toward attention.
inline Component stored_component(const Shape& shape, Component c) {
  return std::holds_alternative<Norm>(shape) ? Component::norm : c;
}

/// Formats of an operator's weights.
inline Stored stored(const Shape& shape, Component c, const WeightFormats& weights, DType compute,
                     Owner owner = Owner::model) {
  const Component in = stored_component(shape, c);
  const DType weight = weights[in];
  if (weights.is_held(in, owner)) return {weight, weight, compute, compute, weight};
  const Format& f = weight.format();
  const bool table = c == Component::embedding || c == Component::position || c == Component::lm_head;
  const DType matrix = table && !f.covers_embedding ? compute : weight;
  return {matrix, f.covers_vectors ? weight : compute, compute, compute, matrix};
}

/// Formats of an operator's weights under a pricing. `narrow`: whether the matmul runs in the plan's format; training
/// then quantizes a wider matrix to that format.
inline Stored stored(const Shape& shape, Component c, const Pricing& p, bool narrow, Owner owner = Owner::model) {
  Stored s = stored(shape, c, p.weight, p.activation, owner);
  if (narrow) s.operand = p.product;
  const bool wider = whole_bits(s.matrix.format()) > whole_bits(p.product.format());
  if (narrow && p.training() && wider) s.factor = p.product;
  if (c == Component::lm_head) s.result = p.head_output();
  return s;
}

/// Formats under a recipe that runs all eligible matmuls of every block in low precision.
inline Stored stored(const Shape& shape, Component c, const Pricing& p) {
  return stored(shape, c, p, is_low_precision(c));
}

/// Formats of an operator's weights. Adapters are in the format of trained weights.
inline Stored stored(const Op& op, const Pricing& p) {
  if (op.weights != Op::Weights::adapter) {
    Stored s = stored(op.shape, op.component, p, op.narrow, op.owner);
    if (!makes_logits(op)) s.result = p.activation;
    return s;
  }
  Pricing own = p;
  own.weight = p.trained;
  return stored(op.shape, op.component, own, op.narrow);
}

/// Bytes of one token's keys and values in these formats, each in a separate row: one per KV head, or the latent row.
inline Bytes token_rows(const Attention& a, const CacheFormats& t, bool latent) {
  if (latent && t.scaled_latent) return scaled_row_bytes(a.latent_dim - a.rope_dim) + Bytes(mul(2, a.rope_dim));
  if (latent) return row_bytes(t.keys, a.latent_dim);
  return a.kv_heads * (row_bytes(t.keys, a.qk_dim) + (a.shared ? Bytes() : row_bytes(t.values, a.v_dim)));
}

/// Bytes of an indexer's key for one token.
inline Bytes index_row(const IndexScores& s, const CacheFormats& t) {
  return t.scaled_index ? scaled_row_bytes(s.width) : row_bytes(t.keys, s.width);
}

}  // namespace llmcalc
