#include "calc/textbook/activations.hpp"

#include "calc/textbook/stored.hpp"

namespace llmcalc::textbook {
namespace {

/// Number of tensors of the MLP's inner width that are saved for backward.
Count mlp_tensors(bool gated, GluStore glu) {
  if (!gated) return 2;
  if (glu == GluStore::fused) return 3;
  return glu == GluStore::all ? 4 : 2;
}

/// A model with one layer of grouped-head attention and a dense MLP.
Arch layer_of(const LayerActivations& l) {
  Arch a;
  a.layers = 1;
  a.hidden = a.embedding_width = l.hidden;
  a.heads = l.heads;
  a.kv_heads = l.kv_heads;
  a.head_dim = l.head_dim;
  a.mlp = l.gated ? MlpKind::gated : MlpKind::plain;
  a.mlp_width = l.mlp_width;
  a.norm = l.layer_norm ? NormKind::layer_norm : NormKind::rms_norm;
  a.block = l.parallel_block ? BlockKind::parallel : BlockKind::serial;
  a.norms_per_layer = l.parallel_block ? 1 : 2;
  return a;
}

MicroBatch<Fraction> micro_batch(const LayerActivations& l) {
  return {.B = l.batch,
          .S = l.seq,
          .p = l.precision,
          .attention = l.flash ? AttentionImpl::flash : AttentionImpl::naive,
          .softmax = l.softmax,
          .glu = l.glu,
          .norm_stats = l.norm_stats,
          .attention_dropout = l.attention_dropout,
          .hidden_dropout = l.hidden_dropout,
          .sequence_parallel = l.sequence_parallel};
}

Fraction times(Exact n, const Fraction& f) { return Fraction(n, 1) * f; }

}  // namespace

Fraction layer_activations(const LayerActivations& l) {
  const Arch a = layer_of(l);
  const Sizes<Fraction> s = exact_sizes(a, l.tensor_parallel);
  const MicroBatch<Fraction> m = micro_batch(l);
  const auto saved = [&](const auto& which) {
    return stored(a, s, m, which).bytes(m.p) / Fraction(l.context_parallel);
  };
  using Tensor = StoredActivation<Fraction>;
  if (l.stored == Recompute::none) return saved([](const Tensor& x) { return x.in_block; });
  if (l.stored == Recompute::selective) return saved([](const Tensor& x) { return x.in_block && !x.core; });
  return tokens_of(m, s.T, Tokens::mine) * m.p * s.D / Fraction(l.context_parallel);
}

Fraction korthikanti_layer(const KorthikantiLayer& k, Recompute stored) {
  const Exact sbh = Exact(k.seq) * k.batch * k.hidden;
  const Count t = k.tensor_parallel, u = k.sequence_parallel ? t : 1;
  if (stored == Recompute::full) return {Exact(2) * sbh, u};
  const Fraction matrices = times(sbh, Fraction(10, u) + Fraction(24, t));
  if (stored == Recompute::selective) return matrices;
  return matrices + Fraction(Exact(5) * k.heads * k.seq * k.seq * k.batch, t);
}

Fraction korthikanti_first_stage(const KorthikantiLayer& k, Count layers, Count pipeline, Count interleaved,
                                 Recompute stored) {
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
