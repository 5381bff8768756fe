#include "calc/cost/shape_costs.hpp"

#include "calc/operator/state_chunk.hpp"

namespace llmcalc::shape_costs {

// ---- Recurrences with a state per head. Model FLOPs follow the recurrent form: 2 per state element and pass over the
// state. Executed FLOPs count the matmuls, token by token or in chunks of C tokens; per token and head with an N x P
// state:
//   token by token   4 N P, plus 2 N P under the delta rule and another 2 N P if removal has a separate key
//   delta            4 C N + 4 C P + 6 N P   scores k k' and q k', the two results of the triangular system;
//                                            S is read twice and updated once (arXiv:2412.06464; excludes the inverse
//                                            of the system)
//   removal          8 C N + 8 C P + 8 N P   as delta, with scores, values and updates of both keys (arXiv:2503.14456)
//   state space      2 C P + 4 N P           and 2 C N per group: scores C B' (arXiv:2405.21060, 6); mLSTM's P is one
//                                            larger for the normalizer (arXiv:2405.04517)
//   RG-LRU           2 P                     only a S + v, which is the output (arXiv:2402.19427)
// The last chunk may have fewer tokens. Half of the C x C scores are masked but still computed. Excludes element-wise
// decays and the normalization of queries and keys. Backward has two matmuls per forward matmul and recomputes
// everything except the read of the state (2 N P; in chunks also 2 C P, with two keys 4 C P), since states and scores
// are not saved.

namespace {
/// Coefficients in the formulas of the executed matmuls above. `reading`: matmuls within a chunk that produce the
/// output.
struct RuleWork {
  Count state, scores, values, reading;
};
RuleWork rule_work(StateRule rule) {
  if (rule == StateRule::delta) return {6, 4, 4, 2};
  if (rule == StateRule::diagonal) return {2, 0, 0, 0};
  return rule == StateRule::removal ? RuleWork{8, 8, 8, 4} : RuleWork{4, 2, 2, 2};
}
/// Number of heads with separate scores. Without a delta rule, all heads of a group share their scores.
Count scored_heads(const LinearAttention& s) {
  return s.rule == StateRule::delta || s.rule == StateRule::removal ? s.heads : s.key_heads;
}
Flops recurrent_flops(const LinearAttention& s) { return flops(mul(2, passes(s.rule)), s.rows(), s.state()); }
/// Sum of C over all tokens of the sequences, which is the sum of C^2 over all chunks.
Count chunk_places(const LinearAttention& s) {
  const Count c = tokens_at_once(s), rest = s.queries % c;
  return mul(s.sequences, add(mul(s.queries - rest, c), mul(rest, rest)));
}
/// FLOPs of the matmuls that produce the output: with the state and, in chunks, with the chunk's values.
Flops reading_flops(const LinearAttention& s) {
  if (s.rule == StateRule::diagonal) return {};
  const Flops state = flops(2, s.rows(), s.state());
  if (tokens_at_once(s) == 1) return state;
  return state + flops(rule_work(s.rule).reading, chunk_places(s), s.heads, s.value_dim());
}
Flops state_flops(const LinearAttention& s) {
  const RuleWork w = rule_work(s.rule);
  const Flops state = flops(w.state, s.rows(), s.state());
  if (tokens_at_once(s) == 1) return state;
  const Count scores = mul(w.scores, scored_heads(s), s.key_dim), values = mul(w.values, s.heads, s.value_dim());
  return state + flops(chunk_places(s), add(scores, values));
}
double linear_numbers(const LinearAttention& s) { return d(s.rows()) * d(add(s.inputs(), mul(s.heads, s.head_dim))); }
}  // namespace

Cost forward(const LinearAttention& s, const Pricing& p, const Stored& w) {
  const double state = p.cached ? 2 * d(s.sequences) * d(s.cached()) * d(s.state_bytes) : 0;  // bytes read and written
  return {recurrent_flops(s),
          state_flops(s),
          {.weights = bytes(w.vector, d(s.weights)),
           .cache = state,
           .activations = bytes(p.activation, linear_numbers(s))}};
}
/// Reads the inputs and the gradient of the output; writes the gradients of the inputs.
Cost backward_input(const LinearAttention& s, const Pricing& p, const Stored& w) {
  return {2 * recurrent_flops(s),
          3 * state_flops(s) - reading_flops(s),
          {.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights)),
           .activations = 2 * bytes(p.activation, linear_numbers(s))}};
}
Learned learned(const LinearAttention& s) { return {.total = s.weights, .factored = s.weights}; }

// ---- Convolution: `taps` multiply-adds per element, including zeros before the first token. Backward needs the same
// number three times: for the input gradient, for the weight gradient, and to recompute the sums that the
// activation's derivative needs.

namespace {
double taps_and_bias(const Convolution& s) { return d(s.channels) * d(s.taps + (s.bias ? 1 : 0)); }
}  // namespace

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

// ---- Shift: element-wise. Forward reads each token once for all token shifts and, if `moved`, the terms added to
// the mixing coefficients. Backward also reads the gradients of the shifts' outputs and writes the gradients of the
// token and of the added terms. With a cache, a pass reads the last cached token and replaces it.

Cost forward(const Shift& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows()) * d(s.width), mixes = d(s.mixes);
  const double passes = s.peeks ? 1 : 2, moves = s.moved ? mixes : 0;
  const double state = p.cached ? passes * bytes(p.activation, d(s.sequences) * d(s.width)) : 0;
  return {.moved = {.weights = bytes(w.vector, d(s.learned())),
                    .cache = state,
                    .activations = bytes(p.activation, (1 + mixes + moves) * n)}};
}
Cost backward_input(const Shift& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows()) * d(s.width), mixes = d(s.mixes);
  return {.moved = {.weights = bytes(w.vector, d(s.learned())) + gradient_traffic(p, d(s.learned())),
                    .activations = bytes(p.activation, (2 + (s.moved ? 3 : 1) * mixes) * n)}};
}
Learned learned(const Shift& s) { return {.total = s.learned(), .factored = s.learned()}; }

}  // namespace llmcalc::shape_costs
