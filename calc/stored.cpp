#include "calc/stored.hpp"

namespace llmcalc {

Stored stored(const Shape& shape, Component c, const WeightFormats& weights, DType compute) {
  const DType weight = weights[std::holds_alternative<Norm>(shape) ? Component::norm : c];
  const Format& f = weight.format();
  const bool table = c == Component::embedding || c == Component::position || c == Component::lm_head;
  return {table && !f.covers_embedding ? compute : weight, f.covers_vectors ? weight : compute, compute};
}

Stored stored(const Shape& shape, Component c, const Pricing& p) {
  Stored s = stored(shape, c, p.weight, p.activation);
  if (c == Component::lm_head) s.result = p.head_output();
  return s;
}

Bytes token_rows(const Attention& s, DType t, bool latent) {
  return latent ? row_bytes(t, s.latent_dim) : s.kv_heads * (row_bytes(t, s.qk_dim) + row_bytes(t, s.v_dim));
}

}  // namespace llmcalc
