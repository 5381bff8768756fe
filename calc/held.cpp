#include "calc/held.hpp"

namespace llmcalc {
namespace {

// ---- Bytes kept for backward that are no operator's input or output.

Bytes kept(const Attention& s, const Pricing& p) {
  if (p.attention == AttentionImpl::flash) return Bytes(mul(4, s.rows(), s.heads));  // float32 log-sum-exp
  const Count scores = mul(s.rows(), s.heads, s.keys);
  const Bytes one = bytes_of(p.activation, scores), mask = p.dropout ? Bytes(scores) : Bytes();
  if (p.softmax_store == SoftmaxStore::seed) return 2 * one + mask;
  return one + (p.dropout ? one + mask : Bytes());
}
Bytes kept(const Pointwise& s, const Pricing&) {
  switch (s.kind) {
    case PointwiseKind::dropout:
      return Bytes(mul(s.rows, s.width));
    case PointwiseKind::route:
      return Bytes(mul(8, s.rows, s.width));
    case PointwiseKind::combine:
      return Bytes(mul(4, s.rows, s.top_k));
    default:
      return {};
  }
}
Bytes kept(const Norm& s, const Pricing& p) { return p.norm_stats ? Bytes(mul(s.rows, s.centred ? 8 : 4)) : Bytes(); }
/// Log-probabilities take the place of float32 logits; others stay as they are beside a float32 log-sum-exp per row.
Bytes kept(const Loss& s, const Pricing& p) {
  return p.logits == LogitFormat::compute ? Bytes(mul(4, s.rows)) : Bytes();
}
Bytes kept(const Lookup& s, const Pricing&) { return Bytes(mul(8, s.tokens)); }  // 64-bit token ids
Bytes kept(const Linear&, const Pricing&) { return {}; }
Bytes kept(const LinearAttention&, const Pricing&) { return {}; }
Bytes kept(const Collective&, const Pricing&) { return {}; }

// ---- What backward needs of inputs and output.

Needs needs(const Linear&, const Pricing&) { return {{true}, false}; }
Needs needs(const Norm&, const Pricing&) { return {{true}, false}; }
Needs needs(const Attention&, const Pricing& p) {
  return {{true, true, true, true}, p.attention == AttentionImpl::flash};
}
Needs needs(const LinearAttention&, const Pricing&) { return {{true, true, true}, false}; }
Needs needs(const Pointwise& s, const Pricing&) {
  switch (s.kind) {
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
      return {{true, true}, false};
    case PointwiseKind::activate:
    case PointwiseKind::combine:
      return {{true}, false};
    default:
      return {};
  }
}
Needs needs(const Lookup&, const Pricing&) { return {}; }
Needs needs(const Loss&, const Pricing&) { return {}; }
Needs needs(const Collective&, const Pricing&) { return {}; }

// ---- Bytes held only while the operator runs.

Bytes scratch(const Attention& s, const Pricing& p, bool is_backward) {
  if (p.attention != AttentionImpl::naive || (p.training() && !is_backward)) return {};
  return bytes_of(p.activation, mul(s.rows(), s.heads, s.keys));
}
Bytes scratch(const Lookup&, const Pricing&, bool) { return {}; }
Bytes scratch(const Linear&, const Pricing&, bool) { return {}; }
Bytes scratch(const Norm&, const Pricing&, bool) { return {}; }
Bytes scratch(const LinearAttention&, const Pricing&, bool) { return {}; }
Bytes scratch(const Pointwise&, const Pricing&, bool) { return {}; }
Bytes scratch(const Loss&, const Pricing&, bool) { return {}; }
Bytes scratch(const Collective&, const Pricing&, bool) { return {}; }

// ---- Weights as stored.

Bytes weight_bytes(const Lookup& s, const Stored& w) { return tensor_bytes(w.matrix, s.rows, s.width); }
Bytes weight_bytes(const Linear& s, const Stored& w) {
  const Bytes matrix = s.tied ? Bytes() : tensor_bytes(w.matrix, s.out, s.in);
  return s.groups * (matrix + (s.bias ? bytes_of(w.vector, s.out) : Bytes()));
}
Bytes weight_bytes(const Norm& s, const Stored& w) { return bytes_of(w.vector, s.weights); }
Bytes weight_bytes(const Attention& s, const Stored& w) { return s.sinks ? bytes_of(w.vector, s.heads) : Bytes(); }
Bytes weight_bytes(const Pointwise& s, const Stored& w) { return bytes_of(w.vector, s.weights); }
Bytes weight_bytes(const LinearAttention&, const Stored&) { return {}; }
Bytes weight_bytes(const Loss&, const Stored&) { return {}; }
Bytes weight_bytes(const Collective&, const Stored&) { return {}; }

// ---- What a layer caches of one sequence.

CacheRow cache_row(const Attention& s, DType cache) {
  return {.per_token = token_rows(s, cache, s.caches_latent()), .window = s.window};
}
/// A float32 state of head_dim x head_dim per head.
CacheRow cache_row(const LinearAttention& s, DType) {
  return {.state = Bytes(mul(4, s.heads, s.head_dim, s.head_dim))};
}
CacheRow cache_row(const Lookup&, DType) { return {}; }
CacheRow cache_row(const Linear&, DType) { return {}; }
CacheRow cache_row(const Norm&, DType) { return {}; }
CacheRow cache_row(const Pointwise&, DType) { return {}; }
CacheRow cache_row(const Loss&, DType) { return {}; }
CacheRow cache_row(const Collective&, DType) { return {}; }

}  // namespace

Bytes kept(const Shape& s, const Pricing& p) {
  return std::visit([&](const auto& shape) { return kept(shape, p); }, s);
}
Needs needs(const Shape& s, const Pricing& p) {
  return std::visit([&](const auto& shape) { return needs(shape, p); }, s);
}

Bytes scratch(const Shape& s, const Pricing& p, bool is_backward) {
  return std::visit([&](const auto& shape) { return scratch(shape, p, is_backward); }, s);
}

Bytes weight_bytes(const Shape& s, const Stored& w) {
  return std::visit([&](const auto& shape) { return weight_bytes(shape, w); }, s);
}

Bytes token_cache(const Attention& a, DType cache) { return cache_row(a, cache).per_token; }
CacheRow cache_row(const Shape& s, DType cache) {
  return std::visit([&](const auto& shape) { return cache_row(shape, cache); }, s);
}

Bytes logits_bytes(const Loss& s, const Pricing& p, Count chunks) {
  const Count n = mul(s.rows, s.vocabulary);
  const auto all = [&] {
    switch (p.logits) {
      case LogitFormat::fp32:
        return Bytes(mul(n, 4));
      case LogitFormat::compute:
        return bytes_of(p.activation, n);
      case LogitFormat::with_gradient:
        return Bytes(mul(n, p.activation.format().element_bits / 8 + 8));
    }
    return Bytes();
  };
  return Bytes(ceil_div(all().value, chunks));
}

}  // namespace llmcalc
