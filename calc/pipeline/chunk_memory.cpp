// Activation memory of a chunk.

#include <algorithm>

#include "calc/arch/cross_layer.hpp"
#include "calc/memory.hpp"

namespace llmcalc {
namespace {

/// Bytes that a chunk saves for backward per micro-batch, and its peak of live bytes.
class ChunkTensors {
 public:
  ChunkTensors(const Prices& p, const Plan& plan, const ModelChunk& c)
      : p_(p),
        c_(c),
        cross_layer_(cross_layer_tensors(p.kinds)),
        recomputed_(first_layers(c, 0)),
        group_(plan.recompute_layers),
        away_(plan.offload.activations),
        whole_logits_(plan.logits.chunks == 1) {
    if (plan.recompute != Recompute::full) return;
    recomputed_ = recomputes_block(plan) ? first_layers(c, plan.recompute_layers) : c;
    recomputed_modules_ = !recomputes_block(plan);
    in_groups_ = !recomputes_block(plan) && group_ > 1;
  }

  /// Bytes saved for backward on the device.
  Bytes saved() const {
    if (!c_.head) return saved_below(c_.end);
    return saved_below(c_.end) + p_.head().alive.saved + modules() * saved_of_module();
  }

  /// Bytes saved for backward in host memory, over all layers. in_transit(): the bytes of the layer that has the most
  /// of them.
  Bytes on_host() const {
    if (in_groups_) return ceil_div(c_.layers(), group_) * share_of(p_.layer(0).alive.input, away_);
    Bytes all;
    for_each_saved([&](Bytes one, Count n) { all += n * share_of(one, away_); });
    return all;
  }
  Bytes in_transit() const {
    if (in_groups_) return share_of(p_.layer(0).alive.input, away_);
    Bytes most;
    for_each_saved([&](Bytes one, Count) { most = std::max(most, share_of(one, away_)); });
    return most;
  }

  /// Peak of live bytes other than states. Saved bytes grow with every layer, so each kind peaks in its last
  /// recomputed layer or in its last layer that is not recomputed; gradients of tensors shared across layers may move
  /// the peak to an earlier layer. The embedding holds the peak only if it computes inputs for all layers; otherwise,
  /// a layer's final residual add needs the same bytes. The head's forward never holds the peak, because its backward
  /// needs the same tensors plus a gradient.
  Bytes peak() const {
    Bytes live = c_.head ? peak_of_end() : saved_below(c_.end);
    if (const Liveness& e = p_.embedding().alive; c_.embedding && e.carried != Bytes())
      live = std::max(live, worst(e, false));
    if (in_groups_) return std::max(live, peak_of_groups());
    if (!cross_layer_.empty() || p_.embedding().alive.awaited != Bytes()) return std::max(live, peak_of_every_layer());
    return std::max(live,
                    std::max(peak_of(recomputed_, true), peak_of({recomputed_.end, c_.end, false, false}, false)));
  }

 private:
  bool recomputes(Count layer) const { return layer >= recomputed_.first && layer < recomputed_.end; }
  /// Bytes saved by the layers below `end` and by the embedding. Recomputed layers save only their inputs, one per
  /// group, and the tensors that later layers read.
  Bytes saved_below(Count end) const {
    Bytes saved = c_.embedding ? p_.embedding().alive.saved : Bytes();
    for (const CrossLayerTensor& h : cross_layer_)
      if (h.source < end && recomputes(h.source) && !keeps_anyway(h)) saved += here(p_.layer(h.kind).alive.carried);
    if (in_groups_) return saved + groups_below(end) * here(p_.layer(0).alive.input);
    const Count split = std::min(end, recomputed_.end);
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      const Liveness& l = p_.layer(k).alive;
      if (split > c_.first) saved += layers_in(kind, {c_.first, split}) * here(input_of(k));
      if (end > split) saved += layers_in(kind, {split, end}) * here(l.saved);
    }
    return saved;
  }
  /// Whether a recomputed layer already saves the tensor, as the input of the layer or of its group.
  bool keeps_anyway(const CrossLayerTensor& h) const {
    return h.is_input && (!in_groups_ || (h.source - c_.first) % group_ == 0);
  }
  Bytes here(Bytes saved) const { return saved - share_of(saved, away_); }
  /// Bytes that a recomputed layer saves: its input, if a gradient passes through the layer, and tensors that later
  /// recomputation reads.
  Bytes input_of(std::size_t k) const {
    const Liveness& l = p_.layer(k).alive;
    return l.cross_layer_tensors + (p_.layer(k).backward ? l.input : Bytes());
  }
  /// Calls f(bytes, n) for n layers of a kind that save `bytes` each.
  template <typename F>
  void for_each_saved(const F& f) const {
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      if (const Count n = layers_in(kind, {c_.first, recomputed_.end}); n > 0) f(input_of(k), n);
      if (const Count n = layers_in(kind, {recomputed_.end, c_.end}); n > 0) f(p_.layer(k).alive.saved, n);
    }
  }
  /// Number of recomputed groups that begin below `end`, excluding groups that backward does not pass through.
  Count groups_below(Count end) const {
    Count lowest = c_.end;
    for (std::size_t k = 0; k < p_.kinds.size(); ++k)
      if (p_.layer(k).backward) lowest = std::min(lowest, p_.kinds[k].first);
    const Count before = std::max(lowest, c_.first) - c_.first;
    return std::max(Count{0}, ceil_div(end - c_.first, group_) - before / group_);
  }
  /// Peak bytes of one layer, excluding bytes saved by the layers below it. A recomputed layer also needs the gradient
  /// of its result.
  static Bytes worst(const Liveness& l, bool recomputed) {
    return std::max(recomputed ? l.forward + l.output + l.awaited : l.forward, l.backward);
  }
  /// Bytes of the gradient of a layer's shared tensor: keys and values, or an encoder's result.
  Bytes gradient_of(const CrossLayerTensor& h) const {
    const LayerPrice& maker = p_.layer(h.kind);
    if (!p_.kinds[h.kind].closes_encoder) return maker.alive.awaited;
    return maker.backward ? maker.alive.output : Bytes();
  }
  /// Bytes of the gradients of the relative-position biases of a layer's stack. In an encoder, the gradients of the
  /// decoder's biases are also live.
  Bytes gradient_of_distances(Count i, Count encoder) const {
    const Liveness& e = p_.embedding().alive;
    return i > encoder ? e.awaited - e.awaited_by_encoder : e.awaited;
  }
  /// Peak bytes over all layers if layers share tensors, or if relative-position biases are computed before the first
  /// layer. In backward, the gradient of a shared tensor is live from the last reader to the source layer. A tensor
  /// that a recomputed layer shares is live until backward passes the first reader, and is recomputed with its
  /// source. While an encoder runs, the decoder's embedded tokens, or their gradient, stay live.
  Bytes peak_of_every_layer() const {
    Bytes live;
    const Count encoder = encoder_end(p_.kinds);
    for (Count i = c_.first; i < c_.end; ++i) {
      const LayerPrice& row = p_.layer(kind_index(p_.kinds, i));
      const bool recomputed = recomputes(i) && row.backward;
      const Bytes waiting = i <= encoder ? waiting_for_encoder(p_) : Bytes();
      Bytes gradients = gradient_of_distances(i, encoder), unread;
      for (const CrossLayerTensor& h : cross_layer_) {
        const Liveness& maker = p_.layer(h.kind).alive;
        if (h.passes(i)) gradients += gradient_of(h);
        if (h.source < i && i < h.first_reader && recomputes(h.source)) unread += here(maker.carried);
      }
      const Bytes below = saved_below(i), backward = recomputed ? worst(row.alive, true) : row.alive.backward;
      live = std::max(live, waiting + std::max(below + row.alive.forward, below - unread + gradients + backward));
    }
    return live;
  }
  Bytes peak_of(const ModelChunk& part, bool recomputed) const {
    Bytes live;
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      if (layers_in(kind, part) > 0)
        live = std::max(live, saved_below(kind.layers.last_below(part.end)) +
                                  worst(p_.layer(k).alive, recomputed && p_.layer(k).backward));
    }
    return live;
  }
  /// Number of MTP modules after the head.
  Count modules() const { return p_.mtp().empty() ? 0 : p_.mtp()[0].layers; }
  /// Bytes of the input of a module's norm, which the preceding head already saves.
  Bytes shared_input() const { return p_.head().alive.keeps_input ? p_.mtp()[0].alive.input : Bytes(); }
  /// Bytes saved by the layer of an MTP module; only its input if all layers are recomputed.
  Bytes saved_of_layer() const {
    const Liveness& l = p_.mtp()[1].alive;
    return recomputed_modules_ ? l.input : l.saved;
  }
  Bytes saved_of_module() const {
    if (modules() == 0) return {};
    const auto& parts = p_.mtp();
    return parts[0].alive.saved - shared_input() + saved_of_layer() + parts[2].alive.saved;
  }
  /// Peak bytes of the head and the MTP modules. The logits of every head are live until its backward, unless the loss
  /// processes them in chunks. Saved bytes grow from module to module, so each part peaks in the last module; the
  /// head's backward also needs the gradient of the first module's input.
  Bytes peak_of_end() const {
    const LayerPrice& head = p_.head();
    const Bytes below = saved_below(c_.end);
    if (modules() == 0) return below + head.alive.backward;
    const auto& parts = p_.mtp();
    const Bytes logits = whole_logits_ ? head.logits : Bytes();
    const Bytes before = below + head.alive.saved + logits + (modules() - 1) * (saved_of_module() + logits);
    const Bytes input = before + std::max(parts[0].alive.forward, parts[0].alive.backward) - shared_input();
    const Bytes layer_from = before + saved_of_module() - saved_of_layer() - parts[2].alive.saved;
    const Bytes layer = layer_from + worst(parts[1].alive, recomputed_modules_);
    const Bytes end = layer_from + saved_of_layer() + parts[2].alive.backward;
    return std::max({below + head.alive.backward + parts[0].alive.input, input, layer, end});
  }
  /// Peak bytes if layers are recomputed in groups: a whole group is recomputed, saving its tensors, before its
  /// backward runs.
  Bytes peak_of_groups() const {
    Bytes live, within;
    for (Count i = c_.first; i < c_.end; ++i) {
      const Count begin = i - (i - c_.first) % group_;
      if (i == begin) within = Bytes();
      const LayerPrice& row = p_.layer(kind_index(p_.kinds, i));
      const Liveness& l = row.alive;
      live = std::max(live, saved_below(begin) + within + worst(l, row.backward));
      within += l.saved;
    }
    return live;
  }

  const Prices& p_;
  const ModelChunk& c_;
  std::vector<CrossLayerTensor> cross_layer_;
  ModelChunk recomputed_;  // the layers that save only their inputs
  Count group_;
  Ratio away_;  // fraction of saved bytes in host memory
  bool whole_logits_, in_groups_ = false;
  bool recomputed_modules_ = false;  // whether each MTP module's layer is recomputed separately
};

/// Bytes of the logits of the head, and of every MTP module if the loss does not process logits in chunks.
Bytes all_logits(const Prices& prices, const Plan& plan) {
  Bytes all = prices.head().logits;
  if (plan.logits.chunks > 1) return all;
  for (const LayerPrice& part : prices.mtp()) all += part.layers * part.logits;
  return all;
}

}  // namespace

Bytes saved_bytes(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  return ChunkTensors(prices, plan, chunk).saved();
}

Bytes saved_for_weights(const Prices& prices, const ModelChunk& chunk) {
  Bytes all;
  for_each_row(prices, chunk, [&](const LayerPrice& row, Count n) { all += n * row.for_weights; });
  return all;
}

ChunkAlive chunk_alive(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  const ChunkTensors tensors(prices, plan, chunk);
  ChunkAlive a{.saved = tensors.saved(), .for_weights = saved_for_weights(prices, chunk)};
  a.rest = tensors.peak() - a.saved;
  if (plan.offload.activations.numerator > 0) {
    a.host = tensors.on_host();
    a.transit = tensors.in_transit();
  }
  if (chunk.head) a.logits = all_logits(prices, plan);
  return a;
}

void add(StageAlive& alive, const ChunkAlive& chunk, Count micro_batches, Count for_weights, Count on_host) {
  alive.saved += micro_batches * chunk.saved + for_weights * chunk.for_weights;
  if (micro_batches > 0) alive.rest = std::max(alive.rest, chunk.rest);
  alive.logits += chunk.logits;
  alive.host += on_host * chunk.host;
  alive.transit = std::max(alive.transit, chunk.transit);
}

}  // namespace llmcalc
