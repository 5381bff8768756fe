#include "calc/textbook/flops.hpp"

#include "calc/textbook/parameters.hpp"

namespace llmcalc::textbook {
namespace {

Count head_rows(const PassShape& p) {
  if (p.head == Head::none) return 0;
  return p.head == Head::last ? p.batch : p.batch * p.seq;
}

/// FLOPs over all layers, at width(sizes, absorbed) FLOPs per query-key pair.
template <class Width>
Fraction over_pairs(const Sizes<Fraction>& all, const PassShape& p, const Width& width) {
  return over_parts(all, [&](const Sizes<Fraction>& s) {
    return width(s, p.absorbed) * Fraction(p.batch) * layer_pairs<Fraction>(s, p.pairs, p.seq, p.seq + p.past);
  });
}

/// FLOPs of index scores, summed over all layers.
Fraction over_index(const Sizes<Fraction>& all, const PassShape& p, bool chosen) {
  return over_parts(all, [&](const Sizes<Fraction>& s) {
    return index_flops<Fraction>(s, p.pairs, p.batch, p.seq, p.seq + p.past, chosen);
  });
}

}  // namespace

Fraction attention_pairs(AttentionFlops convention, Count seq, Count past, const Reach& reach) {
  return query_key_pairs<Fraction>(convention, seq, seq + past, {reach.tokens, reach.chunked});
}

ForwardFlops forward_flops(const Arch& a, const PassShape& p) {
  const Sizes<Fraction> s = exact_sizes(a);
  const Exact tokens = Exact(p.batch) * p.seq, head = head_matmul_parameters(a), pooled = pooled_matmul_parameters(a);
  const Exact matrices = Exact(2) * tokens * (Exact(matmul_parameters(a)) - head - pooled);
  const Fraction states =
      p.done ? states_done_forward<Fraction>(s, p.batch, p.seq) : linear_attention_flops<Fraction>(s, p.batch, p.seq);
  const Flops linear = (Fraction(matrices, 1) + states).flops();
  const Fraction index = over_index(s, p, false);
  const Flops core = (over_pairs(s, p, core_width<Fraction>) + index).flops();
  const Fraction spared = over_parts(
      s, [&](const Sizes<Fraction>& part) { return index_backward_spared<Fraction>(part, p.pairs, p.batch, p.seq); });
  const Flops positions = (Exact(2) * head_rows(p) * head + Exact(2) * p.batch * pooled).flops();
  return {linear, core, positions, spared.flops(), outside_flops(s, Fraction(tokens, 1)).flops(), index.flops()};
}

Flops scores_flops(const Arch& a, const PassShape& p) {
  const Sizes<Fraction> s = exact_sizes(a);
  return (over_pairs(s, p, scores_width<Fraction>) + over_index(s, p, true)).flops();
}

Flops recomputed_recurrences(const Arch& a, const PassShape& p) {
  return recomputed_recurrences<Fraction>(exact_sizes(a), p.batch, p.seq).flops();
}

Flops mlp_flops(const Arch& a, const PassShape& p) {
  Arch without = a;
  without.moe = {};
  without.mlp_shift = without.mlp_receptance = false;
  without.mlp_width = 0;
  without.mlps = {};
  const Exact weights = Exact(matmul_parameters(a)) - matmul_parameters(without);
  return (Exact(2) * p.batch * p.seq * weights).flops();
}

Flops train_flops(const ForwardFlops& f, Recompute recomputed, Flops recomputed_scores) {
  Flops total = 3 * f.total() - f.index_spared + recomputed_scores;
  if (recomputed == Recompute::selective) total += f.core - f.index;
  if (recomputed == Recompute::full) total += f.linear + f.core - f.outside;
  return total;
}

Flops linear_backward_flops(Count tokens, Count in, Count out, bool input_needs_grad) {
  return (Exact(input_needs_grad ? 4 : 2) * tokens * in * out).flops();
}

Flops six_nd(Count params, Count tokens) { return six_nd<Fraction>(params, tokens).flops(); }

Count query_widths(const Arch& a) { return query_widths(exact_sizes(a)).exact().count(); }

Flops palm_flops_per_token(Count params, Count query_widths, Count seq, bool causal) {
  return palm_per_token<Fraction>(params, query_widths, seq, causal).flops();
}

Flops kaplan_flops_per_token(Count non_embedding, Count query_widths, Count seq) {
  return kaplan_per_token<Fraction>(non_embedding, query_widths, seq).flops();
}

Flops megatron_flops(const GptStep& g, Recompute recompute, bool as_printed) {
  return megatron_step<Fraction>(g.batch, g.layers, g.seq, g.hidden, g.vocabulary, recompute, as_printed).flops();
}

}  // namespace llmcalc::textbook
