#include "calc/textbook/flops.hpp"

#include <algorithm>

#include "calc/textbook/parameters.hpp"

namespace llmcalc::textbook {
namespace {

/// Twice the pairs: whole in every convention.
Exact twice_pairs(Pairs convention, Count seq, Count past, Count window) {
  const Count reach = seq + past;
  const Count most = window > 0 ? std::min(window, reach) : reach;
  if (convention == Pairs::full) return Exact(2) * seq * most;
  const Count growing = std::min(seq, std::max<Count>(most - past, 0));  // rows before the window is full
  const Exact triangle = convention == Pairs::causal_exact ? Exact(growing) * (growing + 1) : Exact(growing) * growing;
  return triangle + Exact(2) * growing * past + Exact(2) * (seq - growing) * most;
}

/// Sum over the layers with softmax attention of twice their pairs.
Exact layer_pairs(const Arch& a, const Pass& p) {
  Count windowed = 0, softmax = 0;
  for (Count i = 0; i < a.layers; ++i) {
    if (a.linear_layers.contains(i)) continue;
    ++softmax;
    if (a.sliding.layers.contains(i)) ++windowed;
  }
  return Exact(softmax - windowed) * twice_pairs(p.pairs, p.seq, p.past, 0) +
         Exact(windowed) * twice_pairs(p.pairs, p.seq, p.past, a.sliding.window);
}

struct CoreWidths {
  Count qk = 0, v = 0;
};
CoreWidths core_widths(const Arch& a, bool absorbed) {
  if (a.attention == AttentionKind::grouped) return {a.head_dim, a.head_dim};
  const Latent& l = a.latent;
  if (absorbed) return {l.kv_rank + l.rope_dim, l.kv_rank};
  return {l.nope_dim + l.rope_dim, l.v_dim};
}

/// Linear attention in recurrent form: update of a d_h x d_h state per head and its product with q, 4 A d_h^2 a token.
Exact linear_attention(const Arch& a, Exact tokens) {
  return Exact(4) * a.linear_layers.size() * tokens * a.heads * a.head_dim * a.head_dim;
}

Count head_rows(const Pass& p) { return p.head == Head::none ? 0 : p.head == Head::last ? p.batch : p.batch * p.seq; }

}  // namespace

Fraction attention_pairs(Pairs convention, Count seq, Count past, Count window) {
  return {twice_pairs(convention, seq, past, window), 2};
}

ForwardFlops forward_flops(const Arch& a, const Pass& p) {
  const Exact tokens = Exact(p.batch) * p.seq, head = head_matmul_parameters(a);
  const CoreWidths w = core_widths(a, p.absorbed);
  const Exact linear = Exact(2) * tokens * (Exact(matmul_parameters(a)) - head) + linear_attention(a, tokens);
  const Exact core = Exact(p.batch) * a.heads * (w.qk + w.v) * layer_pairs(a, p);
  return {linear.flops(), core.flops(), (Exact(2) * head_rows(p) * head).flops()};
}

Flops scores_flops(const Arch& a, const Pass& p) {
  return (Exact(p.batch) * a.heads * core_widths(a, p.absorbed).qk * layer_pairs(a, p)).flops();
}

Flops mlp_flops(const Arch& a, const Pass& p) {
  Arch without = a;
  without.moe = {}, without.mlp_width = 0;
  const Exact weights = Exact(matmul_parameters(a)) - matmul_parameters(without);
  return (Exact(2) * p.batch * p.seq * weights).flops();
}

Flops train_flops(const ForwardFlops& f, Recomputed recomputed, Flops scores_again) {
  Flops total = 3 * f.total() + scores_again;
  if (recomputed == Recomputed::selective) total += f.core;
  if (recomputed == Recomputed::full) total += f.linear + f.core;
  return total;
}

Flops linear_backward_flops(Count tokens, Count in, Count out, bool input_needs_grad) {
  return (Exact(input_needs_grad ? 4 : 2) * tokens * in * out).flops();
}

Flops six_nd(Count params, Count tokens) { return (Exact(6) * params * tokens).flops(); }

Flops palm_flops_per_token(Count params, Count layers, Count heads, Count head_dim, Count seq, bool causal) {
  return (Exact(6) * params + Exact(causal ? 6 : 12) * layers * heads * head_dim * seq).flops();
}

Flops kaplan_flops_per_token(Count non_embedding, Count layers, Count seq, Count attention_width) {
  return (Exact(2) * non_embedding + Exact(2) * layers * seq * attention_width).flops();
}

Flops megatron_flops(const GptStep& g, Recomputed recomputed, bool as_printed) {
  const Exact tokens = Exact(g.batch) * g.seq;
  const Exact matrices = tokens * g.layers * g.hidden * g.hidden, core = tokens * g.layers * g.seq * g.hidden;
  const Exact head = Exact(6) * tokens * g.hidden * g.vocabulary;
  if (recomputed == Recomputed::full) return (Exact(96) * matrices + Exact(16) * core + head).flops();
  const Exact cores = recomputed == Recomputed::none ? 12 : as_printed ? 24 : 16;
  return (Exact(72) * matrices + cores * core + head).flops();
}

}  // namespace llmcalc::textbook
