#include "calc/cost.hpp"

#include <algorithm>

#include "calc/gradient_flow.hpp"
#include "calc/held.hpp"
#include "calc/muon.hpp"
#include "calc/operand.hpp"
#include "calc/state_chunk.hpp"
#include "calc/stored.hpp"

namespace llmcalc {
namespace {

double bytes(DType t, double n) { return n * static_cast<double>(t.format().element_bits) / 8.0; }
double d(Count n) { return static_cast<double>(n); }

double matrix_bytes(DType t, Count rows, Count cols) { return d(tensor_bytes(t, rows, cols).value); }

/// Traffic of n weights' gradients: written once, and read first to accumulate over micro-batches.
double gradient_traffic(const Pricing& p, double n) { return n * d(p.gradient_bytes) * (p.accumulate ? 2 : 1); }

// ---- Lookup: y (tokens, width) = table[ids]. No FLOPs; `tokens` rows of the table are read.

Cost forward(const Lookup& s, const Pricing& p, const Stored& w) {
  const double n = d(s.tokens) * d(s.width);
  return {.moved = {.weights = matrix_bytes(w.matrix, s.tokens, s.width), .activations = bytes(p.activation, n)}};
}
/// Ids have no gradient.
Cost backward_input(const Lookup&, const Pricing&, const Stored&) { return {}; }
/// Scatter-add of the output's gradient into `tokens` rows.
Cost backward_weight(const Lookup& s, const Pricing& p, const Stored&) {
  const double n = d(s.tokens) * d(s.width);
  return {.moved = {.weights = gradient_traffic(p, n), .activations = bytes(p.activation, n)}};
}
Learned learned(const Lookup& s) {
  if (s.tied) return {};
  const Count n = mul(s.rows, s.width);
  return {.total = n, .factored = add(s.rows, s.width)};
}

// ---- Linear: y (rows, out) = x (rows, in) W. 2 rows in out FLOPs (Narayanan et al. 2021, arXiv:2104.04473); bias and
// activation are element-wise and left out. Backward: dx = dy W' and dW = x' dy, exactly twice forward. What is read:
// calc/operand.hpp.

Cost forward(const Linear& s, const Pricing&, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * (matrix_read(s, w) + (s.bias ? bytes(w.vector, d(s.out)) : 0)),
           .activations = operand_read(w.operand, s.rows, s.in) + bytes(w.result, d(s.rows) * d(s.out))}};
}
/// dx = dy W': the weights and dy are read, dx is written.
Cost backward_input(const Linear& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * transposed_read(s, w),
           .activations = bytes(p.activation, d(s.rows) * d(s.in)) + operand_read(w.operand, s.rows, s.out)}};
}
/// dW = x' dy: x and dy are read, the gradient is written.
Cost backward_weight(const Linear& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * gradient_traffic(p, d(s.in) * d(s.out) + (s.bias ? d(s.out) : 0)),
           .activations = operand_read(w.operand, s.in, s.rows) + operand_read(w.operand, s.out, s.rows)}};
}
Learned learned(const Linear& s) {
  const Count matrix = mul(s.in, s.out), bias = s.bias ? s.out : 0;
  // A token's experts lie evenly over the ranks: this one has at least one part of them.
  const Count idle = s.top_k > 0 ? s.groups - ceil_div(s.top_k, s.expert_ranks) : 0;
  Learned one{.total = add(matrix, bias), .matmul = matrix, .factored = add(add(s.in, s.out), bias)};
  Learned r = s.groups * one;
  if (s.tied) r.total = r.factored = bias;
  r.idle = mul(idle, one.total);
  r.matmul_idle = mul(idle, matrix);
  return r;
}

// ---- Norm: 2 passes over (rows, width) at most; no matmul.

Cost forward(const Norm& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows) * d(s.width);
  return {.moved = {.weights = bytes(w.vector, d(s.weights)), .activations = 2 * bytes(p.activation, n)}};
}
Cost backward_input(const Norm& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows) * d(s.width);
  return {.moved = {.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights)),
                    .activations = 3 * bytes(p.activation, n)}};
}
Learned learned(const Norm& s) { return {.total = s.weights, .factored = s.weights}; }

// ---- Attention core: q k' and softmax(.) v, 2 (qk_dim + v_dim) FLOPs per head and scored pair. Backward has four such
// products (dV, dP, dQ, dK): twice forward; flash also recomputes q k': 2.5 times where keys are as wide as values.

AttentionFlops executed_convention(Count queries, const Pricing& p) {
  return p.attention == AttentionImpl::naive && queries > 1 ? AttentionFlops::full : AttentionFlops::causal_exact;
}
/// Twice the query-key pairs per head and sequence: of a packed one, the sum over its documents.
Count pairs_twice(Count queries, Count past, const Pairs& of, const Documents& documents) {
  if (documents.empty()) return twice_pairs(queries, past, of);
  Count all = 0;
  for (const DocumentRun& d : documents) all = add(all, mul(d.count, twice_pairs(d.length, 0, of)));
  return all;
}
/// `width` FLOPs for each of twice the pairs. Ranks that share the pairs have equal parts: exactly where every query
/// sees all before it (calc/parallel/context.hpp), and rounded up under a window, whose first queries see fewer keys.
Flops pair_flops(const Attention& s, Count width, const Pairs& of, const Documents& documents) {
  const Flops all = flops(s.sequences, s.heads, width, pairs_twice(s.all_queries(), s.past(), of, documents));
  if (s.pair_ranks == 1) return all;
  const Wide ranks = static_cast<Wide>(s.pair_ranks);
  return Flops(all.value / ranks + (all.value % ranks != 0 ? 1 : 0));
}
/// Where every query sees all keys, there is one convention.
Pairs scored_pairs(const Attention& s, AttentionFlops convention) {
  return {s.bidirectional ? AttentionFlops::full : convention, s.reach, s.selection, s.pooled};
}
Cost core_cost(const Attention& s, const Pricing& p) {
  const AttentionFlops done = executed_convention(s.queries, p);
  const bool every_pair = done == AttentionFlops::full;  // masks come after the products
  const Count width = s.qk_dim + s.v_dim;
  const Pairs every{.convention = done, .pooled = s.pooled};
  return {.model = pair_flops(s, width, scored_pairs(s, p.convention), p.documents),
          .executed =
              every_pair ? pair_flops(s, width, every, {}) : pair_flops(s, width, scored_pairs(s, done), p.documents)};
}
/// Keys of all tokens, pooled ones among them.
Count all_keys(const Attention& s) { return s.pooled > 0 ? add(s.keys, ceil_div(s.keys, s.pooled)) : s.keys; }
/// Cached rows that a pass reads: in decode those that one of the new tokens sees, or others that each chooses; in
/// prefill, and of an encoder, all.
Count cached_rows(const Attention& s, const Pricing& p) {
  if (s.bidirectional || (p.phase != Phase::decode && s.queries > 1)) return all_keys(s);
  const Count last = s.keys - 1, near = s.keys - s.reach.first(s.past());
  if (s.pooled > 0) return add(near, std::min(ceil_div(s.keys, s.pooled), mul(s.queries, s.pooled_seen(last))));
  return s.selection.chooses() ? std::min(s.keys, mul(s.queries, s.selection.seen(last))) : near;
}
/// Bytes of the S x S scores moved once.
double scores(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(all_keys(s)));
}
double queries_and_outputs(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(s.qk_dim + s.v_dim));
}
double keys_and_values(const Attention& s, const CacheFormats& t, Count tokens) {
  return d(s.sequences) * d(tokens) * d(token_rows(s, t, s.absorbed).value);
}
/// Bytes of what relative positions add to the scores.
double pair_numbers(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.heads) * d(s.queries) * d(s.keys));
}
/// The learned logit of each head.
double sinks(const Attention& s, const Stored& w) { return s.sinks ? bytes(w.vector, d(s.heads)) : 0; }

Cost forward(const Attention& s, const Pricing& p, const Stored& w) {
  Cost c = core_cost(s, p);
  c.moved.weights = sinks(s, w);
  c.moved.activations = queries_and_outputs(s, p);
  if (p.cached && s.reads_cache())
    c.moved.cache = keys_and_values(s, p.cache, cached_rows(s, p));
  else
    c.moved.activations += keys_and_values(s, p.activation, all_keys(s));
  if (p.cached && s.caches())  // the new tokens are written
    c.moved.activations += d(s.cross ? mul(s.sequences, s.keys) : s.rows()) * d(token_cache(s, p.cache).value);
  if (s.relative) c.moved.activations += pair_numbers(s, p);
  // Scores written, read by softmax, written again, read by the second product.
  if (p.attention == AttentionImpl::naive) c.moved.activations += 4 * scores(s, p);
  return c;
}
Cost backward_input(const Attention& s, const Pricing& p, const Stored& w) {
  Cost c = core_cost(s, p);
  const bool flash = p.attention == AttentionImpl::flash;
  c.model = 2 * c.model;
  c.executed = 2 * c.executed;
  if (flash) c.executed += pair_flops(s, s.qk_dim, scored_pairs(s, AttentionFlops::causal_exact), p.documents);
  c.moved.weights = sinks(s, w) + (s.sinks ? gradient_traffic(p, d(s.heads)) : 0);
  // q, k, v, o and do are read, dq, dk and dv written; naive: P twice, dP and dS written and read.
  c.moved.activations = 2 * (queries_and_outputs(s, p) + keys_and_values(s, p.activation, all_keys(s)));
  if (!flash) c.moved.activations += 7 * scores(s, p);
  if (s.relative) c.moved.activations += 2 * pair_numbers(s, p);  // and their gradient
  return c;
}
Learned learned(const Attention& s) {
  const Count n = s.sinks ? mul(s.heads, s.head_ranks) : 0;
  return {.total = n, .factored = n};
}

// ---- Index scores: q k' of every index head and token in reach, 2 width FLOPs each. Backward works on the chosen keys
// alone (arXiv:2512.02556, 2.1): dq and dk are twice as many FLOPs for each, and the scores, which nothing keeps, are
// found again. Left out: ReLU and the weighted sum over heads, a multiply-add per head and pair.

Flops index_flops(const IndexScores& s, const Pairs& of, const Documents& documents) {
  return flops(s.sequences, s.heads, s.width, pairs_twice(s.queries, s.past(), of, documents));
}
/// Bytes of the queries and of the heads' weights.
double index_queries(const IndexScores& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(s.width + 1));
}
double index_keys(const IndexScores& s, DType t) {
  return d(s.sequences) * d(s.all_keys()) * d(row_bytes(t, s.width).value);
}

Cost forward(const IndexScores& s, const Pricing& p, const Stored&) {
  const AttentionFlops done = executed_convention(s.queries, p);
  const Documents& documents = done == AttentionFlops::full ? Documents() : p.documents;
  const Pairs of{.convention = p.convention, .pooled = s.pooled, .pooled_alone = s.pooled > 0};
  Pairs in_kernel = of;
  in_kernel.convention = done;
  Cost c{index_flops(s, of, p.documents), index_flops(s, in_kernel, documents), {}};
  c.moved.activations = index_queries(s, p) + 4 * d(s.chosen());
  if (!p.cached) {
    c.moved.activations += index_keys(s, p.activation);
    return c;
  }
  c.moved.cache = index_keys(s, p.cache.keys);
  if (s.pooled == 0)
    c.moved.activations += d(s.rows()) * d(row_bytes(p.cache.keys, s.width).value);  // new keys are written
  return c;
}
Cost backward_input(const IndexScores& s, const Pricing& p, const Stored&) {
  const auto chosen = [&](AttentionFlops convention) {
    return index_flops(s, {convention, {}, s.selection, s.pooled, s.pooled > 0}, p.documents);
  };
  return {2 * chosen(p.convention),
          3 * chosen(AttentionFlops::causal_exact),
          {.activations = 2 * (index_queries(s, p) + index_keys(s, p.activation)) + 4 * d(s.chosen())}};
}
Learned learned(const IndexScores&) { return {}; }

// ---- Pool: element-wise; keys and gates are read, pooled keys written, to the cache too.

double pool_numbers(const Pool& s) { return 2 * d(s.rows()) * d(s.wide) + d(s.pooled()) * d(s.width); }
Cost forward(const Pool& s, const Pricing& p, const Stored& w) {
  const double written = p.cached ? d(s.pooled()) * d(row_bytes(p.cache.keys, s.width).value) : 0;
  return {.moved = {.weights = bytes(w.vector, d(s.ratio) * d(s.wide)),
                    .activations = bytes(p.activation, pool_numbers(s)) + written}};
}
/// Keys, gates and the result's gradient are read, gradients of keys and gates written.
Cost backward_input(const Pool& s, const Pricing& p, const Stored& w) {
  const double bias = d(s.ratio) * d(s.wide);
  return {.moved = {.weights = bytes(w.vector, bias) + gradient_traffic(p, bias),
                    .activations = bytes(p.activation, pool_numbers(s) + 2 * d(s.rows()) * d(s.wide))}};
}
Learned learned(const Pool& s) {
  const Count bias = mul(s.ratio, s.wide);
  return {.total = bias, .factored = bias};
}

// ---- A state per head. Model FLOPs are those of the recurrent form, 2 per number of the state and pass over it.
// Done are the products of it, token by token or C tokens at once, per token and head of N x P:
//   token by token   4 N P, 2 N P more by the delta rule, and 2 N P more where it removes by a key of its own
//   delta            4 C N + 4 C P + 6 N P   scores k k' and q k', the triangular system's two results; S read twice,
//                                            updated (arXiv:2412.06464; the inverse of the system itself left out)
//   removal          8 C N + 8 C P + 8 N P   as delta, with scores, values and updates of both keys (arXiv:2503.14456)
//   state space      2 C P + 4 N P           and 2 C N per group: scores C B' (arXiv:2405.21060, 6)
// The last chunk may have fewer tokens. Half of the C x C scores are masked, but multiplied. Element-wise decays,
// normalised queries and keys are left out. Backward has two products for each, and runs again all but the reading of
// the state (2 N P, and of a chunk 2 C P, of both keys 4 C P): states and scores are not kept.

/// Factors of the products above, and of those of a chunk that give the output.
struct RuleWork {
  Count state, scores, values, reading;
};
RuleWork rule_work(StateRule rule) {
  if (rule == StateRule::delta) return {6, 4, 4, 2};
  return rule == StateRule::removal ? RuleWork{8, 8, 8, 4} : RuleWork{4, 2, 2, 2};
}
/// Heads whose scores are their own: without a delta rule those of a group share theirs.
Count scored_heads(const LinearAttention& s) {
  return s.rule == StateRule::delta || s.rule == StateRule::removal ? s.heads : s.key_heads;
}
Flops recurrent_flops(const LinearAttention& s) { return flops(mul(2, passes(s.rule)), s.rows(), s.state()); }
/// The sum of C over all tokens of the sequences: of C^2 over all chunks.
Count chunk_places(const LinearAttention& s) {
  const Count c = tokens_at_once(s), rest = s.queries % c;
  return mul(s.sequences, add(mul(s.queries - rest, c), mul(rest, rest)));
}
/// Products with the state, and with a chunk's values, that give the output.
Flops reading_flops(const LinearAttention& s) {
  const Flops state = flops(2, s.rows(), s.state());
  if (tokens_at_once(s) == 1) return state;
  return state + flops(rule_work(s.rule).reading, chunk_places(s), s.heads, s.head_dim);
}
Flops state_flops(const LinearAttention& s) {
  const RuleWork w = rule_work(s.rule);
  const Flops state = flops(w.state, s.rows(), s.state());
  if (tokens_at_once(s) == 1) return state;
  const Count scores = mul(w.scores, scored_heads(s), s.key_dim), values = mul(w.values, s.heads, s.head_dim);
  return state + flops(chunk_places(s), add(scores, values));
}
double linear_numbers(const LinearAttention& s) { return d(s.rows()) * d(add(s.inputs(), mul(s.heads, s.head_dim))); }

Cost forward(const LinearAttention& s, const Pricing& p, const Stored& w) {
  const double state = p.cached ? 2 * d(s.sequences) * d(s.state()) * d(s.state_bytes) : 0;  // read and written
  return {recurrent_flops(s),
          state_flops(s),
          {.weights = bytes(w.vector, d(s.weights)),
           .cache = state,
           .activations = bytes(p.activation, linear_numbers(s))}};
}
/// Inputs and the output's gradient are read, the gradients of inputs written.
Cost backward_input(const LinearAttention& s, const Pricing& p, const Stored& w) {
  return {2 * recurrent_flops(s),
          3 * state_flops(s) - reading_flops(s),
          {.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights)),
           .activations = 2 * bytes(p.activation, linear_numbers(s))}};
}
Learned learned(const LinearAttention& s) { return {.total = s.weights, .factored = s.weights}; }

// ---- Convolution: taps multiply-adds per number, zeros before the first token among them. Backward: the same for the
// input's gradient and for the weights', and once more for the sums that the activation's slope asks for.

double taps_and_bias(const Convolution& s) { return d(s.channels) * d(s.taps + (s.bias ? 1 : 0)); }

Cost forward(const Convolution& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows(), s.channels, s.taps);
  const double state = p.cached ? 2 * bytes(p.activation, d(s.sequences) * d(s.channels) * d(s.taps - 1)) : 0;
  return {f,
          f,
          {.weights = bytes(w.vector, taps_and_bias(s)),
           .cache = state,
           .activations = 2 * bytes(p.activation, d(s.rows()) * d(s.channels))}};
}
Cost backward_input(const Convolution& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows(), s.channels, s.taps);
  return {2 * f,
          (s.activated ? 3 : 2) * f,
          {.weights = bytes(w.vector, taps_and_bias(s)) + gradient_traffic(p, taps_and_bias(s)),
           .activations = 3 * bytes(p.activation, d(s.rows()) * d(s.channels))}};
}
Learned learned(const Convolution& s) {
  const Count taps = mul(s.channels, s.taps), all = add(taps, s.bias ? s.channels : 0);
  return {.total = all, .matmul = taps, .factored = all};
}

// ---- Shift: element-wise. Forward reads a token once for all mixes; backward reads it and their gradients, and writes
// its own. A pass behind cached tokens reads the last one and replaces it.

Cost forward(const Shift& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows()) * d(s.width), mixes = d(s.mixes);
  const double state = p.cached ? 2 * bytes(p.activation, d(s.sequences) * d(s.width)) : 0;
  return {.moved = {.weights = bytes(w.vector, d(s.learned())),
                    .cache = state,
                    .activations = bytes(p.activation, (1 + mixes) * n)}};
}
Cost backward_input(const Shift& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows()) * d(s.width), mixes = d(s.mixes);
  return {.moved = {.weights = bytes(w.vector, d(s.learned())) + gradient_traffic(p, d(s.learned())),
                    .activations = bytes(p.activation, (2 + mixes) * n)}};
}
Learned learned(const Shift& s) { return {.total = s.learned(), .factored = s.learned()}; }

// ---- Pointwise: bytes only. Numbers read and written per number of the output.

double forward_touches(PointwiseKind k, Count top_k) {
  switch (k) {
    case PointwiseKind::add:
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
    case PointwiseKind::add_own:
      return 3;
    case PointwiseKind::activate:
    case PointwiseKind::rope:
    case PointwiseKind::scale:
    case PointwiseKind::dropout:
    case PointwiseKind::route:
    case PointwiseKind::dispatch:
      return 2;
    case PointwiseKind::mix:
    case PointwiseKind::combine:
    case PointwiseKind::gather:
      return 1 + d(top_k);
    case PointwiseKind::repeat:
      return 1 + 1 / d(top_k);
    case PointwiseKind::spread:
      return 2 + 1 / d(top_k);
    case PointwiseKind::predict:
    case PointwiseKind::stack:
    case PointwiseKind::first:
      return 2;
    case PointwiseKind::share:
      return 2 + 1 / d(top_k);
    case PointwiseKind::blend:
      return 4;
    case PointwiseKind::bonus:
      return 6;
  }
  return 0;
}
double backward_touches(PointwiseKind k, Count top_k) {
  switch (k) {
    case PointwiseKind::add:
    case PointwiseKind::activate:
    case PointwiseKind::scale:
    case PointwiseKind::add_own:
      return 3;  // add: the branch's gradient joins the residual's; scale: the result is read for its own gradient;
                 // add_own: b and the gradient of the sum, which is that of a, are read
    case PointwiseKind::multiply:
    case PointwiseKind::gate:
      return 5;
    case PointwiseKind::rope:
    case PointwiseKind::dropout:
    case PointwiseKind::route:
    case PointwiseKind::dispatch:
      return 2;
    case PointwiseKind::mix:
    case PointwiseKind::combine:
    case PointwiseKind::gather:
      return 1 + 2 * d(top_k);
    case PointwiseKind::repeat:
      return 1 + 1 / d(top_k);
    case PointwiseKind::spread:
      return 3 + 2 / d(top_k);
    case PointwiseKind::first:
      return 2;
    case PointwiseKind::predict:
    case PointwiseKind::stack:
      return 3;
    case PointwiseKind::share:
      return 2 + 1 / d(top_k);
    case PointwiseKind::blend:
      return 7;
    case PointwiseKind::bonus:
      return 11;
  }
  return 0;
}
Cost pointwise(const Pointwise& s, const Pricing& p, double touches) {
  const double n = d(s.rows) * d(s.width);
  const double mask = s.kind == PointwiseKind::dropout ? n : 0;
  return {.moved = {.activations = touches * bytes(p.activation, n) + mask}};
}
Cost forward(const Pointwise& s, const Pricing& p, const Stored& w) {
  Cost c = pointwise(s, p, forward_touches(s.kind, s.top_k));
  c.moved.weights = bytes(w.vector, d(s.weights));
  return c;
}
Cost backward_input(const Pointwise& s, const Pricing& p, const Stored& w) {
  Cost c = pointwise(s, p, backward_touches(s.kind, s.top_k));
  c.moved.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights));
  return c;
}
Learned learned(const Pointwise& s) { return {.total = s.weights, .factored = s.weights}; }

// ---- Loss: logits read; their gradient written in their place.

Cost forward(const Loss& s, const Pricing& p, const Stored&) {
  return {.moved = {.activations = bytes(p.loss_input(), d(s.rows) * d(s.vocabulary))}};
}
Cost backward_input(const Loss& s, const Pricing& p, const Stored&) {
  return {.moved = {.activations = 2 * bytes(p.loss_input(), d(s.rows) * d(s.vocabulary))}};
}
Learned learned(const Loss&) { return {}; }

// ---- Collective: priced by its link (calc/exchange.hpp), not here.

Cost forward(const Collective&, const Pricing&, const Stored&) { return {}; }
Cost backward_input(const Collective&, const Pricing&, const Stored&) { return {}; }
Learned learned(const Collective&) { return {}; }

// ---- Shapes whose gradients of inputs and of weights one kernel computes: it counts with the inputs.

Cost backward_weight(const Norm&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Attention&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const IndexScores&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Pool&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const LinearAttention&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Convolution&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Shift&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Pointwise&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Loss&, const Pricing&, const Stored&) { return {}; }
Cost backward_weight(const Collective&, const Pricing&, const Stored&) { return {}; }

// ---- Numbers in the result.

Count out_elements(const Lookup& s) { return mul(s.tokens, s.width); }
Count out_elements(const Linear& s) { return mul(s.rows, s.out); }
Count out_elements(const Norm& s) { return mul(s.rows, s.width); }
Count out_elements(const Attention& s) { return mul(s.rows(), s.heads, s.v_dim); }
Count out_elements(const IndexScores&) { return 0; }  // indices, see result_bytes
Count out_elements(const Pool& s) { return mul(s.pooled(), s.width); }
Count out_elements(const LinearAttention& s) { return mul(s.rows(), s.heads, s.head_dim); }
Count out_elements(const Convolution& s) { return mul(s.rows(), s.channels); }
Count out_elements(const Shift& s) { return mul(s.rows(), s.mixes, s.width); }
Count out_elements(const Pointwise& s) { return mul(s.rows, s.width); }
Count out_elements(const Loss&) { return 0; }
Count out_elements(const Collective& s) { return s.out_elements; }

// ---- Functions that element-wise kernels evaluate.

double functions(const Loss& s, bool) { return d(s.rows) * d(s.vocabulary); }
double functions(const Pointwise& s, bool is_backward) {
  const bool activates =
      s.kind == PointwiseKind::activate || s.kind == PointwiseKind::gate || s.kind == PointwiseKind::blend;
  return activates ? (is_backward ? 2 : 1) * d(s.rows) * d(s.width) : 0;
}
double functions(const Lookup&, bool) { return 0; }
double functions(const Linear&, bool) { return 0; }
double functions(const Norm&, bool) { return 0; }
double functions(const Attention&, bool) { return 0; }
double functions(const IndexScores&, bool) { return 0; }
double functions(const Pool& s, bool) { return d(s.rows()) * d(s.wide); }  // the softmax of the gates
double functions(const LinearAttention&, bool) { return 0; }
double functions(const Convolution& s, bool is_backward) {
  return s.activated ? (is_backward ? 2 : 1) * d(s.rows()) * d(s.channels) : 0;
}
double functions(const Shift&, bool) { return 0; }
double functions(const Collective&, bool) { return 0; }

}  // namespace

Cost forward(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return forward(shape, p, w); }, s);
}
Cost backward_input(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return backward_input(shape, p, w); }, s);
}
Cost backward_weight(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return backward_weight(shape, p, w); }, s);
}
Cost backward(const Shape& s, const Pricing& p, Component c) {
  Cost both = backward_input(s, p, c);
  return both += backward_weight(s, p, c);
}
namespace {
/// Frozen weights have no gradient.
Pricing without_gradients(Pricing p) {
  p.gradient_bytes = 0;
  return p;
}
}  // namespace

Costs costs(const Op& op, const Pricing& p) {
  const Stored w = stored(op, p);
  if (!has_backward(op) || !p.training()) return {forward(op, p), {}, {}};
  if (op.is_frozen()) {
    const Pricing frozen = without_gradients(p);
    if (std::holds_alternative<Lookup>(op.shape)) return {forward(op, frozen), {}, {}};
    return std::visit(
        [&](const auto& s) -> Costs {
          return {forward(s, frozen, w), backward_input(s, frozen, w), {}};
        },
        op.shape);
  }
  return std::visit(
      [&](const auto& s) -> Costs {
        const Cost ahead = forward(s, p, w);
        return {ahead, has_input_gradient(op) ? backward_input(s, p, w) : Cost(), backward_weight(s, p, w)};
      },
      op.shape);
}
Cost forward(const Op& op, const Pricing& p) {
  const Stored w = stored(op, p);
  Cost c = std::visit([&](const auto& s) { return forward(s, p, w); }, op.shape);
  c.moved.weights *= p.weight.held_ratio(stored_component(op.shape, op.component));
  return c;
}
Cost backward(const Op& op, const Pricing& p) {
  Costs c = costs(op, p);
  return c.backward_input += c.backward_weight;
}
Cost cost(const Op& op, const Pricing& p, Direction direction) {
  switch (direction) {
    case Direction::forward:
      return forward(op, p);
    case Direction::backward_input:
      return costs(op, p).backward_input;
    case Direction::backward_weight:
      return costs(op, p).backward_weight;
  }
  return {};
}
double functions(const Shape& s, bool is_backward) {
  return std::visit([&](const auto& shape) { return functions(shape, is_backward); }, s);
}
Learned learned(const Shape& s) {
  return std::visit([](const auto& shape) { return learned(shape); }, s);
}
Learned learned(const Op& op) {
  Learned l = learned(op.shape);
  if (op.is_frozen()) {
    l.frozen = l.total;
    l.factored = 0;
  }
  l.adamw = l.trained() - muon_matrices(op).numbers();
  return l;
}
Count out_elements(const Shape& s) {
  return std::visit([](const auto& shape) { return out_elements(shape); }, s);
}
Bytes result_bytes(const Shape& s, DType activation) {
  const IndexScores* scores = std::get_if<IndexScores>(&s);
  return scores != nullptr ? Bytes(mul(4, scores->chosen())) : bytes_of(activation, out_elements(s));
}

}  // namespace llmcalc
