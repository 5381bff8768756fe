// Bytes that a chunk of a model saves for backward, and its peak of live bytes.

#include <algorithm>

#include "calc/arch/handed_on.hpp"
#include "calc/memory.hpp"

namespace llmcalc {
namespace {

/// Bytes that a chunk saves for backward per micro-batch, and its peak of live bytes.
class ChunkTensors {
 public:
  ChunkTensors(const Prices& p, const Plan& plan, const ModelChunk& c)
      : p_(p),
        c_(c),
        handed_(handed_on(p.kinds)),
        again_(first_layers(c, 0)),
        group_(plan.recompute_layers),
        away_(plan.offload.activations),
        whole_logits_(plan.logits.chunks == 1) {
    if (plan.recompute != Recompute::full) return;
    again_ = recomputes_block(plan) ? first_layers(c, plan.recompute_layers) : c;
    modules_again_ = !recomputes_block(plan);
    in_groups_ = !recomputes_block(plan) && group_ > 1;
  }

  /// Bytes saved for backward on the device.
  Bytes kept() const {
    if (!c_.head) return kept_below(c_.end);
    return kept_below(c_.end) + p_.head().alive.kept + modules() * kept_of_module();
  }

  /// Bytes saved for backward in host memory: of all layers, and (in_transit) of the layer with the most.
  Bytes on_host() const {
    if (in_groups_) return ceil_div(c_.layers(), group_) * share_of(p_.layer(0).alive.input, away_);
    Bytes all;
    for_each_kept([&](Bytes one, Count n) { all += n * share_of(one, away_); });
    return all;
  }
  Bytes in_transit() const {
    if (in_groups_) return share_of(p_.layer(0).alive.input, away_);
    Bytes most;
    for_each_kept([&](Bytes one, Count) { most = std::max(most, share_of(one, away_)); });
    return most;
  }

  /// Peak of live bytes other than states. Saved bytes only grow, so each kind peaks in its last recomputed and its
  /// last other layer; gradients of tensors shared across layers may move the peak to an earlier layer. The peak is
  /// never in the embedding (a layer's final residual add holds the same bytes) unless the embedding makes inputs of
  /// all layers, nor in the head's forward (its backward holds the same tensors plus a gradient).
  Bytes peak() const {
    Bytes live = c_.head ? peak_of_end() : kept_below(c_.end);
    if (const Liveness& e = p_.embedding().alive; c_.embedding && e.carried != Bytes())
      live = std::max(live, worst(e, false));
    if (in_groups_) return std::max(live, peak_of_groups());
    if (!handed_.empty() || p_.embedding().alive.awaited != Bytes()) return std::max(live, peak_of_every_layer());
    return std::max(live, std::max(peak_of(again_, true), peak_of({again_.end, c_.end, false, false}, false)));
  }

 private:
  bool runs_again(Count layer) const { return layer >= again_.first && layer < again_.end; }
  /// Bytes saved by the layers below `end` and by the embedding. Recomputed layers save only inputs, one per group, and
  /// tensors that later layers read.
  Bytes kept_below(Count end) const {
    Bytes kept = c_.embedding ? p_.embedding().alive.kept : Bytes();
    for (const HandedOn& h : handed_)
      if (h.source < end && runs_again(h.source) && !keeps_anyway(h)) kept += here(p_.layer(h.kind).alive.carried);
    if (in_groups_) return kept + groups_below(end) * here(p_.layer(0).alive.input);
    const Count split = std::min(end, again_.end);
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      const Liveness& l = p_.layer(k).alive;
      if (split > c_.first) kept += layers_in(kind, {c_.first, split}) * here(input_of(k));
      if (end > split) kept += layers_in(kind, {split, end}) * here(l.kept);
    }
    return kept;
  }
  /// Whether recomputation saves the tensor anyway, as the input of a layer or of its group.
  bool keeps_anyway(const HandedOn& h) const {
    return h.is_input && (!in_groups_ || (h.source - c_.first) % group_ == 0);
  }
  Bytes here(Bytes kept) const { return kept - share_of(kept, away_); }
  /// Bytes that a recomputed layer saves: its input, if a gradient passes through the layer, and tensors that later
  /// recomputation reads.
  Bytes input_of(std::size_t k) const {
    const Liveness& l = p_.layer(k).alive;
    return l.handed_on + (p_.layer(k).backward ? l.input : Bytes());
  }
  /// Calls f(bytes, n) for n layers of a kind that save `bytes` each.
  template <typename F>
  void for_each_kept(const F& f) const {
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      if (const Count n = layers_in(kind, {c_.first, again_.end}); n > 0) f(input_of(k), n);
      if (const Count n = layers_in(kind, {again_.end, c_.end}); n > 0) f(p_.layer(k).alive.kept, n);
    }
  }
  /// Groups that begin below `end`, excluding those that backward does not pass through.
  Count groups_below(Count end) const {
    Count lowest = c_.end;
    for (std::size_t k = 0; k < p_.kinds.size(); ++k)
      if (p_.layer(k).backward) lowest = std::min(lowest, p_.kinds[k].first);
    const Count before = std::max(lowest, c_.first) - c_.first;
    return std::max(Count{0}, ceil_div(end - c_.first, group_) - before / group_);
  }
  /// Peak of one layer, excluding bytes saved below it. A recomputed layer also holds the gradient of its result.
  static Bytes worst(const Liveness& l, bool again) {
    return std::max(again ? l.forward + l.output + l.awaited : l.forward, l.backward);
  }
  /// Gradient of a layer's shared tensor: of keys and values, or of an encoder's result.
  Bytes gradient_of(const HandedOn& h) const {
    const LayerPrice& maker = p_.layer(h.kind);
    if (!p_.kinds[h.kind].closes_encoder) return maker.alive.awaited;
    return maker.backward ? maker.alive.output : Bytes();
  }
  /// Gradients of the distances that a layer's stack reads; in an encoder also of the decoder's distances.
  Bytes gradient_of_distances(Count i, Count encoder) const {
    const Liveness& e = p_.embedding().alive;
    return i > encoder ? e.awaited - e.awaited_by_encoder : e.awaited;
  }
  /// Peak over all layers if layers share tensors or if distances are made before all layers. In backward the gradients
  /// of shared tensors are live from the last reader to the maker; tensors of a recomputed maker are live until the
  /// first reader, and recomputed with the maker. While an encoder runs, the decoder's embedded tokens, or their
  /// gradient, stay live.
  Bytes peak_of_every_layer() const {
    Bytes live;
    const Count encoder = encoder_end(p_.kinds);
    for (Count i = c_.first; i < c_.end; ++i) {
      const LayerPrice& row = p_.layer(kind_index(p_.kinds, i));
      const bool again = runs_again(i) && row.backward;
      const Bytes waiting = i <= encoder ? waiting_for_encoder(p_) : Bytes();
      Bytes gradients = gradient_of_distances(i, encoder), unread;
      for (const HandedOn& h : handed_) {
        const Liveness& maker = p_.layer(h.kind).alive;
        if (h.passes(i)) gradients += gradient_of(h);
        if (h.source < i && i < h.first_reader && runs_again(h.source)) unread += here(maker.carried);
      }
      const Bytes below = kept_below(i), backward = again ? worst(row.alive, true) : row.alive.backward;
      live = std::max(live, waiting + std::max(below + row.alive.forward, below - unread + gradients + backward));
    }
    return live;
  }
  Bytes peak_of(const ModelChunk& part, bool again) const {
    Bytes live;
    for (std::size_t k = 0; k < p_.kinds.size(); ++k) {
      const LayerKind& kind = p_.kinds[k];
      if (layers_in(kind, part) > 0)
        live = std::max(live, kept_below(kind.layers.last_below(part.end)) +
                                  worst(p_.layer(k).alive, again && p_.layer(k).backward));
    }
    return live;
  }
  /// Number of MTP modules after the head.
  Count modules() const { return p_.mtp().empty() ? 0 : p_.mtp()[0].layers; }
  /// The input of a module's norm, which the head before it already saves.
  Bytes shared_input() const { return p_.head().alive.keeps_input ? p_.mtp()[0].alive.input : Bytes(); }
  /// Bytes saved by the layer of a module; only its input if all layers are recomputed.
  Bytes kept_of_layer() const {
    const Liveness& l = p_.mtp()[1].alive;
    return modules_again_ ? l.input : l.kept;
  }
  Bytes kept_of_module() const {
    if (modules() == 0) return {};
    const auto& parts = p_.mtp();
    return parts[0].alive.kept - shared_input() + kept_of_layer() + parts[2].alive.kept;
  }
  /// Peak of head and MTP modules. Logits of every head live until its backward, unless the loss takes them in chunks.
  /// Saved bytes grow from module to module, so each part peaks in the last module; the head's backward also holds the
  /// gradient of the first module's input.
  Bytes peak_of_end() const {
    const LayerPrice& head = p_.head();
    const Bytes below = kept_below(c_.end);
    if (modules() == 0) return below + head.alive.backward;
    const auto& parts = p_.mtp();
    const Bytes logits = whole_logits_ ? head.logits : Bytes();
    const Bytes before = below + head.alive.kept + logits + (modules() - 1) * (kept_of_module() + logits);
    const Bytes input = before + std::max(parts[0].alive.forward, parts[0].alive.backward) - shared_input();
    const Bytes layer_from = before + kept_of_module() - kept_of_layer() - parts[2].alive.kept;
    const Bytes layer = layer_from + worst(parts[1].alive, modules_again_);
    const Bytes end = layer_from + kept_of_layer() + parts[2].alive.backward;
    return std::max({below + head.alive.backward + parts[0].alive.input, input, layer, end});
  }
  /// A group is recomputed as a whole, saving the tensors for its backward, and then runs backward.
  Bytes peak_of_groups() const {
    Bytes live, within;
    for (Count i = c_.first; i < c_.end; ++i) {
      const Count begin = i - (i - c_.first) % group_;
      if (i == begin) within = Bytes();
      const LayerPrice& row = p_.layer(kind_index(p_.kinds, i));
      const Liveness& l = row.alive;
      live = std::max(live, kept_below(begin) + within + worst(l, row.backward));
      within += l.kept;
    }
    return live;
  }

  const Prices& p_;
  const ModelChunk& c_;
  std::vector<HandedOn> handed_;
  ModelChunk again_;  // layers that save only inputs
  Count group_;
  Ratio away_;  // share of saved bytes in host memory
  bool whole_logits_, in_groups_ = false;
  bool modules_again_ = false;  // the layer of a module is recomputed separately
};

/// Logits of the head, and of every MTP module if the loss takes them whole.
Bytes all_logits(const Prices& prices, const Plan& plan) {
  Bytes all = prices.head().logits;
  if (plan.logits.chunks > 1) return all;
  for (const LayerPrice& part : prices.mtp()) all += part.layers * part.logits;
  return all;
}

}  // namespace

Bytes kept_bytes(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  return ChunkTensors(prices, plan, chunk).kept();
}

Bytes kept_for_weights(const Prices& prices, const ModelChunk& chunk) {
  Bytes all;
  for_each_row(prices, chunk, [&](const LayerPrice& row, Count n) { all += n * row.for_weights; });
  return all;
}

ChunkAlive chunk_alive(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  const ChunkTensors tensors(prices, plan, chunk);
  ChunkAlive a{.kept = tensors.kept(), .for_weights = kept_for_weights(prices, chunk)};
  a.rest = tensors.peak() - a.kept;
  if (plan.offload.activations.numerator > 0) {
    a.host = tensors.on_host();
    a.transit = tensors.in_transit();
  }
  if (chunk.head) a.logits = all_logits(prices, plan);
  return a;
}

void add(StageAlive& alive, const ChunkAlive& chunk, Count micro_batches, Count for_weights, Count on_host) {
  alive.kept += micro_batches * chunk.kept + for_weights * chunk.for_weights;
  if (micro_batches > 0) alive.rest = std::max(alive.rest, chunk.rest);
  alive.logits += chunk.logits;
  alive.host += on_host * chunk.host;
  alive.transit = std::max(alive.transit, chunk.transit);
}

}  // namespace llmcalc
