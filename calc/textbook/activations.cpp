#include "calc/textbook/activations.hpp"

#include <algorithm>

namespace llmcalc::textbook {
namespace {

/// Numbers kept of an MLP, in widths of its inner layer.
Count mlp_tensors(bool gated, StoredGlu glu) {
  if (!gated) return 2;
  return glu == StoredGlu::all4 ? 4 : glu == StoredGlu::fused3 ? 3 : 2;
}

/// Bytes of the scores and their softmax per token on one rank.
Exact scores(const LayerActivations& l) {
  const Exact p = l.precision, rank_heads = l.heads / l.tensor_parallel;
  if (l.flash) return Exact(4) * rank_heads;
  const Exact seed = Exact(2) * p + (l.attention_dropout ? 1 : 0);
  const Exact minimal = l.attention_dropout ? Exact(2) * p + 1 : p;
  return (l.softmax == StoredSoftmax::seed ? seed : minimal) * rank_heads * l.seq;
}

/// Bytes per token of what tensor parallelism cuts.
Exact cut(const LayerActivations& l) {
  const Exact p = l.precision, heads = l.heads / l.tensor_parallel;
  const Exact groups = std::max<Count>(l.kv_heads / l.tensor_parallel, 1);
  const Exact attention = p * l.head_dim * (Exact(2) * heads + Exact(2) * groups);
  const Exact mlp = p * mlp_tensors(l.gated, l.glu) * (l.mlp_width / l.tensor_parallel);
  return attention + mlp + (l.stored == StoredBlock::everything ? scores(l) : Exact(0));
}

/// Bytes per token of what sequence parallelism cuts: norms' inputs and outputs, masks, statistics.
Exact whole(const LayerActivations& l) {
  const Exact d = l.hidden, norms = l.parallel_block ? 1 : 2;
  const Exact statistics = l.norm_stats ? norms * (l.layer_norm ? 8 : 4) : Exact(0);
  return Exact(2) * norms * l.precision * d + (l.hidden_dropout ? Exact(2) * d : Exact(0)) + statistics;
}

Fraction times(Exact n, const Fraction& f) { return Fraction(n, 1) * f; }

}  // namespace

Fraction layer_activations(const LayerActivations& l) {
  const Fraction tokens{Exact(l.batch) * l.seq, l.context_parallel};
  const Count u = l.sequence_parallel ? l.tensor_parallel : 1;
  if (l.stored == StoredBlock::input) return tokens * Fraction(Exact(l.precision) * l.hidden, u);
  return tokens * (Fraction(whole(l), u) + Fraction(cut(l), 1));
}

Fraction korthikanti_layer(const KorthikantiLayer& k, StoredBlock stored) {
  const Exact sbh = Exact(k.seq) * k.batch * k.hidden;
  const Count t = k.tensor_parallel, u = k.sequence_parallel ? t : 1;
  if (stored == StoredBlock::input) return {Exact(2) * sbh, u};
  const Fraction matrices = times(sbh, Fraction(10, u) + Fraction(24, t));
  if (stored == StoredBlock::selective) return matrices;
  return matrices + Fraction(Exact(5) * k.heads * k.seq * k.seq * k.batch, t);
}

Fraction korthikanti_first_stage(const KorthikantiLayer& k, Count layers, Count pipeline, Count interleaved,
                                 StoredBlock stored) {
  const Fraction extra = interleaved > 1 ? Fraction(Exact(pipeline) - 1, Exact(pipeline) * interleaved) : Fraction(0);
  return times(layers, Fraction(1) + extra) * korthikanti_layer(k, stored);
}

Fraction korthikanti_extras(const KorthikantiLayer& k, Count vocabulary, Count pipeline) {
  const Exact sb = Exact(k.seq) * k.batch;
  const Exact head = pipeline == 1 ? Exact(4) * (Exact(k.hidden) + vocabulary) : Exact(0);
  return {sb * (Exact(k.hidden) * pipeline + head), k.tensor_parallel};
}

Fraction logits_activations(Count batch, Count seq, Count vocabulary, Count bytes_per_logit, Count tensor_parallel,
                            Count chunks) {
  return {Exact(bytes_per_logit) * batch * seq * vocabulary, Exact(tensor_parallel) * chunks};
}

Fraction moe_activations(const MoeActivations& m) {
  const Exact p = m.precision, d = m.hidden, tensors = mlp_tensors(m.gated, m.glu);
  const Fraction copies = m.capacity * Fraction(m.top_k);
  const Fraction routed = copies * Fraction(Exact(2) * p * d + tensors * p * m.width, 1);
  const Exact fixed =
      Exact(8) * m.experts + Exact(4) * m.top_k + Exact(m.shared_experts) * tensors * p * m.shared_width;
  return times(Exact(m.batch) * m.seq, routed + Fraction(fixed, 1));
}

}  // namespace llmcalc::textbook
