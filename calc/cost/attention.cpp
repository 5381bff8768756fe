#include <algorithm>

#include "calc/cost/held.hpp"
#include "calc/cost/shape_costs.hpp"

namespace llmcalc::shape_costs {

// ---- Attention core: q k' and softmax(.) v, 2 (qk_dim + v_dim) FLOPs per head and scored pair. Backward has four such
// matmuls (dV, dP, dQ, dK), twice as many as forward. Flash also recomputes q k': 2.5 times forward if keys and values
// have the same width.

namespace {
AttentionFlops executed_convention(Count queries, const Pricing& p) {
  return p.attention == AttentionImpl::naive && queries > 1 ? AttentionFlops::full : AttentionFlops::causal_exact;
}
/// Twice the number of query-key pairs per head and sequence; for a packed sequence, summed over its documents.
Count pairs_twice(Count queries, Count past, const Pairs& of, const Documents& documents) {
  if (documents.empty()) return twice_pairs(queries, past, of);
  Count all = 0;
  for (const DocumentRun& d : documents) all = add(all, mul(d.count, twice_pairs(d.length, 0, of)));
  return all;
}
/// FLOPs of the scored pairs: for each head and sequence, `width` times pairs_twice(). Ranks that share the pairs get
/// equal parts. This is exact if every query sees all earlier tokens (calc/parallel/context.hpp), and rounded up
/// under a window, because the first queries see fewer keys.
Flops pair_flops(const Attention& s, Count width, const Pairs& of, const Documents& documents) {
  const Flops all = flops(s.sequences, s.heads, width, pairs_twice(s.all_queries(), s.past(), of, documents));
  if (s.pair_ranks == 1) return all;
  const Int128 ranks = static_cast<Int128>(s.pair_ranks);
  return Flops(all.value / ranks + (all.value % ranks != 0 ? 1 : 0));
}
/// The query-key pairs to count. For bidirectional attention, all conventions give the same number.
Pairs scored_pairs(const Attention& s, AttentionFlops convention) {
  return {convention, s.reach, s.selection, s.pooled, false, s.bidirectional};
}
Cost core_cost(const Attention& s, const Pricing& p) {
  const AttentionFlops done = executed_convention(s.queries, p);
  const bool every_pair = done == AttentionFlops::full;  // masks apply after the matmul
  const Count width = s.qk_dim + s.v_dim;
  const Pairs every{.convention = done, .pooled = s.pooled};
  return {.model = pair_flops(s, width, scored_pairs(s, p.convention), p.documents),
          .executed =
              every_pair ? pair_flops(s, width, every, {}) : pair_flops(s, width, scored_pairs(s, done), p.documents)};
}
/// Number of keys for all tokens, including pooled keys.
Count all_keys(const Attention& s) { return s.pooled > 0 ? add(s.keys, ceil_div(s.keys, s.pooled)) : s.keys; }
/// Cached rows that a pass reads. Decode: the rows in reach of any new token or, if an indexer selects keys, one
/// selection per new token. Prefill and encoders: all rows.
Count cached_rows(const Attention& s, const Pricing& p) {
  if (s.bidirectional || (p.phase != Phase::decode && s.queries > 1)) return all_keys(s);
  const Count last = s.keys - 1, near = s.keys - s.reach.first(s.past());
  if (s.pooled > 0) return add(near, std::min(ceil_div(s.keys, s.pooled), mul(s.queries, s.pooled_seen(last))));
  return s.selection.chooses() ? std::min(s.keys, mul(s.queries, s.selection.seen(last))) : near;
}
/// Bytes of the S x S scores, read or written once.
double scores(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(all_keys(s)));
}
double queries_and_outputs(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(s.qk_dim + s.v_dim));
}
double keys_and_values(const Attention& s, const CacheFormats& t, Count tokens) {
  return d(s.sequences) * d(tokens) * d(token_rows(s, t, s.absorbed).value);
}
/// Bytes of the relative-position bias on the scores.
double pair_numbers(const Attention& s, const Pricing& p) {
  return bytes(p.activation, d(s.heads) * d(s.queries) * d(s.keys));
}
/// Bytes of the attention sinks: one learned logit per head.
double sinks(const Attention& s, const Stored& w) { return s.sinks ? bytes(w.vector, d(s.heads)) : 0; }
}  // namespace

Cost forward(const Attention& s, const Pricing& p, const Stored& w) {
  Cost c = core_cost(s, p);
  c.moved.weights = sinks(s, w);
  // While decoding, a rank computes the heads of all ranks that share the cached tokens, on its own tokens.
  const double shared = p.phase == Phase::decode ? d(s.token_ranks) : 1;
  c.moved.activations = shared * queries_and_outputs(s, p);
  if (p.cached && s.reads_cache())
    c.moved.cache = keys_and_values(s, p.cache, cached_rows(s, p)) / shared;
  else
    c.moved.activations += keys_and_values(s, p.activation, all_keys(s));
  if (p.cached && s.caches())  // writes the new tokens to the cache
    c.moved.activations +=
        d(s.cross ? mul(s.sequences, s.keys) : s.rows()) * d(token_cache(s, p.cache).value) / d(s.token_ranks);
  if (s.relative) c.moved.activations += pair_numbers(s, p);
  // Scores are written, read by softmax, written back, and read by the second matmul.
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
  // Reads q, k, v, o and do; writes dq, dk and dv. Naive: also reads P twice, and writes and reads dP and dS.
  c.moved.activations = 2 * (queries_and_outputs(s, p) + keys_and_values(s, p.activation, all_keys(s)));
  if (!flash) c.moved.activations += 7 * scores(s, p);
  if (s.relative) c.moved.activations += 2 * pair_numbers(s, p);  // bias and its gradient
  return c;
}
Learned learned(const Attention& s) {
  const Count n = s.sinks ? mul(s.heads, s.head_ranks) : 0;
  return {.total = n, .factored = n};
}

// ---- Index scores: q k' for every index head and token in reach, 2 width FLOPs each. Backward covers only the
// selected keys (arXiv:2512.02556, 2.1): dq and dk take twice the FLOPs of the scores; the scores, which are not
// saved, are recomputed. Excludes ReLU and the weighted sum over heads, a multiply-add per head and pair.

namespace {
Flops index_flops(const IndexScores& s, const Pairs& of, const Documents& documents) {
  return flops(s.sequences, s.heads, s.width, pairs_twice(s.queries, s.past(), of, documents));
}
/// Bytes of the queries and of the head weights.
double index_queries(const IndexScores& s, const Pricing& p) {
  return bytes(p.activation, d(s.rows()) * d(s.heads) * d(s.width + 1));
}
double index_keys(const IndexScores& s, const CacheFormats& t) {
  return d(s.sequences) * d(s.all_keys()) * d(index_row(s, t).value);
}
}  // namespace

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
  c.moved.cache = index_keys(s, p.cache);
  if (s.pooled == 0)
    c.moved.activations += d(s.rows()) * d(index_row(s, p.cache).value);  // writes the new keys to the cache
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

// ---- Pool: element-wise. Reads keys and gates; writes pooled keys and, with a cache, a second copy to the cache.

namespace {
double pool_numbers(const Pool& s) { return 2 * d(s.rows()) * d(s.wide) + d(s.pooled()) * d(s.width); }
}  // namespace

Cost forward(const Pool& s, const Pricing& p, const Stored& w) {
  const double written = p.cached ? d(s.pooled()) * d(row_bytes(p.cache.keys, s.width).value) : 0;
  return {.moved = {.weights = bytes(w.vector, d(s.ratio) * d(s.wide)),
                    .activations = bytes(p.activation, pool_numbers(s)) + written}};
}
/// Reads keys, gates and the gradient of the result; writes the gradients of keys and gates.
Cost backward_input(const Pool& s, const Pricing& p, const Stored& w) {
  const double bias = d(s.ratio) * d(s.wide);
  return {.moved = {.weights = bytes(w.vector, bias) + gradient_traffic(p, bias),
                    .activations = bytes(p.activation, pool_numbers(s) + 2 * d(s.rows()) * d(s.wide))}};
}
Learned learned(const Pool& s) {
  const Count bias = mul(s.ratio, s.wide);
  return {.total = bias, .factored = bias};
}

}  // namespace llmcalc::shape_costs
