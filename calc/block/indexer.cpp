#include "calc/block/indexer.hpp"

#include "calc/block/compressed.hpp"

namespace llmcalc {
namespace {

/// Queries and key of an indexer and, for a lightning indexer, the weights of its heads.
struct IndexedLayer {
  TensorId q, k, weights = no_tensor;
};

constexpr PoolNames pool_names{"attn.index_keys", "attn.index_gate", "attn.index_pool", "attn.index_k_norm",
                               "attn.index_k_rope"};

/// The key of every token after a LayerNorm, or pooled keys.
TensorId lightning_key(SegmentBuilder& b, TensorId x) {
  const Count width = b.mixer().indexer.width;
  if (b.mixer().compressed.ratio > 0) return pooled_keys(b, pool_names, x, width, true);
  const TensorId k = b.detached("attn.index_k", Component::attention, x, b.arch().hidden, width);
  const Norm layer_norm{.rows = b.tokens(), .width = width, .weights = mul(2, width), .centered = true};
  return b.add("attn.index_k_norm", Component::attention, layer_norm, Split::inside, k);
}

IndexedLayer lightning(SegmentBuilder& b, TensorId x, TensorId low) {
  const Mixer& m = b.mixer();
  const Indexer& i = m.indexer;
  const TensorId q = b.detached("attn.index_q", Component::attention, low, m.latent.q_rank, mul(i.heads, i.width));
  return {q, lightning_key(b, x), b.detached("attn.index_weights", Component::attention, x, b.arch().hidden, i.heads)};
}

IndexedLayer blocks(SegmentBuilder& b, TensorId x) {
  const Indexer& i = b.mixer().indexer;
  const Count d = b.arch().hidden, t = b.tokens();
  const TensorId q = b.detached("attn.index_q", Component::attention, x, d, mul(i.heads, i.width));
  const TensorId k = b.detached("attn.index_k", Component::attention, x, d, i.width);
  return {b.add("attn.index_q_norm", Component::attention, Norm{mul(t, i.heads), i.width, i.width}, Split::inside, q),
          b.add("attn.index_k_norm", Component::attention, Norm{t, i.width, i.width}, Split::inside, k)};
}

}  // namespace

TensorId chosen_keys(SegmentBuilder& b, TensorId x, TensorId low) {
  const Mixer& m = b.mixer();
  const Indexer& i = m.indexer;
  if (!i.runs()) return i.shared ? b.outside() : no_tensor;
  const bool is_lightning = i.kind == IndexerKind::lightning;
  const IndexedLayer in = is_lightning ? lightning(b, x, low) : blocks(b, x);
  const bool pools = m.compressed.ratio > 0;  // pooled keys are already rotated
  const Count rotated = mul(i.heads + (pools ? 0 : 1), is_lightning ? m.latent.rope_dim : i.width);
  if (b.arch().position == Position::rope)
    b.in_place("attn.index_rope", Component::attention,
               {.kind = PointwiseKind::rope, .rows = b.tokens(), .width = rotated}, Split::inside, in.q,
               pools ? no_tensor : in.k);
  const Step& s = b.step();
  const IndexScores scores{.sequences = s.sequences,
                           .heads = i.heads,
                           .queries = s.queries,
                           .keys = add(s.past, s.queries),
                           .width = i.width,
                           .selection = i.selection(),
                           .pooled = m.compressed.ratio};
  const TensorId chosen =
      b.add("attn.index_scores", Component::attention, scores, Split::inside, {in.q, in.k, in.weights});
  if (b.arch().shares_choices()) b.share_onward(chosen);
  return chosen;
}

}  // namespace llmcalc
