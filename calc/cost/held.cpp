#include "calc/cost/held.hpp"

#include "calc/training/gradient_flow.hpp"

namespace llmcalc {
namespace {

// ---- Bytes that an operator needs in addition to its inputs and output, and the tensors that its gradient needs.

Held held(const Lookup& s, const Pricing&) { return {.saved = Bytes(mul(8, s.tokens))}; }  // 64-bit token ids
Held held(const Linear&, const Pricing&) { return {.needs = {{true}}}; }
Held held(const Norm& s, const Pricing& p) {
  return {.needs = {{true}}, .saved = p.norm_stats ? Bytes(mul(s.rows, s.centered ? 8 : 4)) : Bytes()};
}
/// Bytes that the attention core saves. Flash: a float32 log-sum-exp per row. Naive: the softmax output and, under
/// SoftmaxStore::seed, its input; with dropout also the mask and, under `minimal`, the masked output.
Bytes saved_of_core(const Attention& s, const Pricing& p, Count scores) {
  if (p.attention == AttentionImpl::flash) return Bytes(mul(4, s.rows(), s.heads));
  const Bytes one = bytes_of(p.activation, scores), mask = p.dropout ? Bytes(scores) : Bytes();
  if (p.softmax_store == SoftmaxStore::seed) return 2 * one + mask;
  return one + (p.dropout ? one + mask : Bytes());
}
/// Bytes of another rank's keys and values in a ring: they arrive in a second buffer while the previous block is in
/// use. In backward, their gradients travel with them.
Bytes arriving(const Attention& s, const Pricing& p) {
  return s.ring ? bytes_of(p.activation, mul(s.rows(), s.key_numbers())) : Bytes();
}
/// Bytes of the queries of all ranks that share the cached tokens, and of their partial results.
Bytes gathered(const Attention& s, const Pricing& p) {
  if (s.token_ranks == 1 || p.phase != Phase::decode) return {};
  return bytes_of(p.activation, mul(s.rows(), s.heads, s.token_ranks, add(s.qk_dim, s.v_dim)));
}
Held held(const Attention& s, const Pricing& p) {
  const bool flash = p.attention == AttentionImpl::flash;
  const Count keys = s.pooled > 0 ? add(s.keys, ceil_div(s.keys, s.pooled)) : s.keys;
  const Count scores = flash ? 0 : mul(s.rows(), s.heads, keys);
  const Bytes passing = bytes_of(p.activation, scores), block = arriving(s, p);
  return {.needs = {{true, true, true, true, s.selection.chooses()}, flash},
          .saved = saved_of_core(s, p, scores),
          .scratch = (p.training() ? Bytes() : passing) + block + gathered(s, p),
          .scratch_backward = passing + 2 * block};
}
/// Only the scores of selected keys have a gradient.
Held held(const IndexScores&, const Pricing&) { return {.needs = {{true, true, true}, true}}; }
Held held(const Pool&, const Pricing&) { return {.needs = {{true, true}}}; }
/// States at chunk ends are recomputed in backward. With a normalizer (mLSTM), backward needs the output and the saved
/// normalizer and its scale, two float32 values per row and head.
Held held(const LinearAttention& s, const Pricing&) {
  return {.needs = {{true, true, true, true, true, true}, s.normalized},
          .saved = s.normalized ? Bytes(mul(8, s.rows(), s.heads)) : Bytes()};
}
Held held(const Convolution&, const Pricing&) { return {.needs = {{true}}}; }
Held held(const Shift& s, const Pricing&) { return {.needs = {{true, s.moved}}}; }
Held held(const Pointwise& s, const Pricing& p) {
  switch (s.kind) {
    case PointwiseKind::scale:  // the operator's result, which its gradient reads; until then, the next layer keeps it
                                // alive
      return {.scratch_backward = bytes_of(p.activation, mul(s.rows, s.width))};
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
    case PointwiseKind::gather:
    case PointwiseKind::predict:
    case PointwiseKind::stack:
      return {.needs = {{true, true}}};
    case PointwiseKind::spread:
    case PointwiseKind::blend:
      return {.needs = {{true, true, true}}};
    case PointwiseKind::bonus:
      return {.needs = {{true, true, true, true, true}}};
    case PointwiseKind::activate:
    case PointwiseKind::mix:
      return {.needs = {{true}}};
    case PointwiseKind::add_own:
      return {.needs = {{false, true}}};
    case PointwiseKind::combine:
      return {.needs = {{true}}, .saved = Bytes(mul(4, s.gate_rows > 0 ? s.gate_rows : s.rows, s.top_k))};
    case PointwiseKind::dropout:
      return {.saved = Bytes(mul(s.rows, s.width))};
    case PointwiseKind::route:
      return {.saved = Bytes(mul(8, s.rows, s.width))};
    case PointwiseKind::add:
    case PointwiseKind::rope:
    case PointwiseKind::dispatch:
    case PointwiseKind::repeat:
    case PointwiseKind::first:
    case PointwiseKind::share:
      return {};
  }
  return {};
}
/// Log-probabilities overwrite float32 logits. Logits in other formats are kept and need a float32 log-sum-exp per
/// row.
Held held(const Loss& s, const Pricing& p) {
  return {.saved = p.logits == LogitFormat::compute ? Bytes(mul(4, s.rows)) : Bytes()};
}
Held held(const Collective&, const Pricing&) { return {}; }

// ---- Weights as stored.

Bytes weight_bytes(const Lookup& s, const Stored& w) {
  return s.tied ? Bytes() : tensor_bytes(w.matrix, s.rows, s.width);
}
Bytes weight_bytes(const Linear& s, const Stored& w) {
  const Bytes matrix = s.tied ? Bytes() : tensor_bytes(w.matrix, s.out, s.in);
  return s.groups * (matrix + (s.bias ? bytes_of(w.vector, s.out) : Bytes()));
}
Bytes weight_bytes(const Norm& s, const Stored& w) { return bytes_of(w.vector, s.weights); }
Bytes weight_bytes(const Attention& s, const Stored& w) {
  return s.sinks ? bytes_of(w.vector, mul(s.heads, s.head_ranks)) : Bytes();
}
Bytes weight_bytes(const IndexScores&, const Stored&) { return {}; }
Bytes weight_bytes(const Pool& s, const Stored& w) { return bytes_of(w.vector, mul(s.ratio, s.wide)); }
Bytes weight_bytes(const Pointwise& s, const Stored& w) { return bytes_of(w.vector, s.weights); }
Bytes weight_bytes(const LinearAttention& s, const Stored& w) { return bytes_of(w.vector, s.weights); }
Bytes weight_bytes(const Convolution& s, const Stored& w) {
  return bytes_of(w.vector, mul(s.channels, s.taps + (s.bias ? 1 : 0)));
}
Bytes weight_bytes(const Shift& s, const Stored& w) { return bytes_of(w.vector, s.learned()); }
Bytes weight_bytes(const Loss&, const Stored&) { return {}; }
Bytes weight_bytes(const Collective&, const Stored&) { return {}; }

// ---- Cache of one sequence in one layer.

CacheRow cache_row(const Attention& s, const Pricing& p) {
  if (s.cross) return {.state = s.keys * token_rows(s, p.cache, false), .encoded = s.keys};
  if (!s.caches()) return {};
  return {.per_token = Bytes(ceil_div(token_rows(s, p.cache, s.caches_latent()).value, s.token_ranks)),
          .reach = s.reach};
}
/// The key of every token, in addition to attention's own cache.
CacheRow cache_row(const IndexScores& s, const Pricing& p) {
  return {.per_token = s.pooled > 0 ? Bytes() : index_row(s, p.cache)};
}
/// Pooled keys, plus the keys and gates of the last tokens, which will form the next pooled key, in the compute
/// format: one group of tokens, or two if groups overlap.
CacheRow cache_row(const Pool& s, const Pricing& p) {
  return {.per_pool = row_bytes(p.cache.keys, s.width),
          .ratio = s.ratio,
          .open = bytes_of(p.activation, mul(2, s.wide, s.last_tokens()))};
}
CacheRow cache_row(const LinearAttention& s, const Pricing&) {
  return {.state = Bytes(mul(s.state_bytes, s.cached()))};
}
/// The last inputs of a convolution, in the format of activations.
CacheRow cache_row(const Convolution& s, const Pricing& p) {
  return {.state = bytes_of(p.activation, mul(s.channels, s.taps - 1))};
}
CacheRow cache_row(const Shift& s, const Pricing& p) {
  return {.state = bytes_of(p.activation, s.peeks ? 0 : s.width)};
}
CacheRow cache_row(const Lookup&, const Pricing&) { return {}; }
CacheRow cache_row(const Linear&, const Pricing&) { return {}; }
CacheRow cache_row(const Norm&, const Pricing&) { return {}; }
CacheRow cache_row(const Pointwise&, const Pricing&) { return {}; }
CacheRow cache_row(const Loss&, const Pricing&) { return {}; }
CacheRow cache_row(const Collective&, const Pricing&) { return {}; }

}  // namespace

Held held(const Shape& s, const Pricing& p) {
  return std::visit([&](const auto& shape) { return held(shape, p); }, s);
}
namespace {
/// Scratch bytes of an operator without a backward pass, as in inference.
Bytes scratch_alone(const Shape& s, Pricing p) {
  p.phase = Phase::prefill;
  return held(s, p).scratch;
}
}  // namespace

Held held(const Op& op, const Pricing& p) {
  Held h = held(op.shape, p);
  if (!has_backward(op)) return {.saved = op.reread ? h.saved : Bytes(), .scratch = scratch_alone(op.shape, p)};
  // With a loss over chunks of logits, the gradient of the head's input overwrites the input.
  const bool keeps_place = makes_logits(op) && p.training() && p.logit_chunks > 1;
  if (op.is_frozen() && std::holds_alternative<Linear>(op.shape) && !keeps_place) h.needs = {};
  if (op.is_frozen() && std::holds_alternative<Lookup>(op.shape)) h.saved = Bytes();
  return h;
}
Bytes weight_bytes(const Shape& s, const Stored& w) {
  return std::visit([&](const auto& shape) { return weight_bytes(shape, w); }, s);
}

Bytes token_cache(const Attention& a, const CacheFormats& cache) { return token_rows(a, cache, a.caches_latent()); }
CacheRow cache_row(const Shape& s, const Pricing& p) {
  return std::visit([&](const auto& shape) { return cache_row(shape, p); }, s);
}

Bytes logits_bytes(const Loss& s, const Pricing& p) {
  const Count n = mul(ceil_div(s.rows, p.logit_chunks), s.vocabulary);
  switch (p.logits) {
    case LogitFormat::fp32:
      return Bytes(mul(n, 4));
    case LogitFormat::compute:
      return bytes_of(p.activation, n);
    case LogitFormat::with_gradient:
      return Bytes(mul(n, p.activation.format().element_bits / 8 + 8));
    case LogitFormat::copies:
      return Bytes(mul(n, p.logit_bytes));
  }
  return Bytes();
}

}  // namespace llmcalc
