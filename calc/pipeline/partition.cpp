#include "calc/pipeline/partition.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "calc/pipeline/chunk_time.hpp"
#include "calc/pipeline/even_cut.hpp"

namespace llmcalc {
namespace {

Count layers_of(const LayerKinds& kinds) { return whole_model(kinds).end; }

/// A holder is a rank, or several ranks that hold the same chunks. In DualPipe, ranks r and P - 1 - r hold the same two
/// chunks and form one holder.
class Holders {
 public:
  explicit Holders(const Pipeline& p) : p_(p) {}
  Count size() const { return p_.ranks / directions(p_); }
  Count of(Count chunk) const {
    const Count r = rank_of(p_, chunk);
    return std::min(r, directions(p_) == 1 ? r : p_.ranks - 1 - r);
  }
  /// Calls f for the chunks of a holder, in model order.
  template <typename F>
  void for_each_chunk(Count holder, const F& f) const {
    for (Count i = 0; i < p_.chunks; ++i) f(model_chunk(p_, holder, i));
  }

 private:
  const Pipeline& p_;
};

/// Deals layers one by one to the holder with the least work; on ties, to the last of these, because pipelines fill
/// from the first rank. Holders with neither embedding nor head take turns, from the last to the first.
class Dealer {
 public:
  Dealer(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline)
      : kinds_(kinds),
        costs_(costs),
        p_(pipeline),
        holders_(pipeline),
        layers_(layers_of(kinds)),
        first_(holders_.of(0)),
        last_(holders_.of(model_chunks(pipeline) - 1)) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const double share = static_cast<double>(kinds[k].count) / static_cast<double>(layers_);
      layer_ += share * costs.layer[k];
      recomputed_ += share * costs.recomputed[k];
    }
    recomputed_ =
        std::max(recomputed_, 0.0);  // negative if a layer's transfers to the host take longer than its recomputation
    for (Count h = 0; h < holders_.size(); ++h) besides_.push(0);
    besides_[static_cast<std::size_t>(first_)] += costs.embedding;
    besides_[static_cast<std::size_t>(last_)] += costs.head;
  }

  Partition deal() {
    Partition best = dealt();
    if (kinds_.size() == 1) return best;
    const LayerCosts all(kinds_, costs_, model_chunks(p_));
    double least = correct(best, all);
    const auto consider = [&](const Partition& p) {
      const double time = correct(p, all);
      if (time >= least) return;
      least = time;
      best = p;
    };
    Partition before = best;
    for (int round = 0; round < 4; ++round) {
      const Partition p = dealt();
      if (p == before) break;  // further deals would give the same partition
      consider(p);
      before = p;
    }
    consider(even_cut(all));
    return best;
  }

 private:
  static constexpr double rounding = 1 - 1e-12;
  using Shares = InplaceVector<Count, max_layers>;

  Partition dealt() {
    Count rest = layers_ - hold_below(level());
    Count next = after(holders_.size());
    loads_ = {};
    for (Count h = 0; h < holders_.size(); ++h) loads_.push(with_another(h));
    for (; rest > 0; --rest) {
      const Count least = least_loaded(next);
      ++of(least);
      load(least) = with_another(least);
      if (least == next) next = after(next);
    }
    Shares layers;
    for (Count q = 0; q < model_chunks(p_); ++q) layers.push(0);
    for (Count h = 0; h < holders_.size(); ++h) share_out(h, layers);
    return stated({layers.begin(), layers.size()});
  }

  double besides(Count h) const { return besides_[static_cast<std::size_t>(h)]; }
  /// Work of each holder if layers were divisible, without recomputation: a lower bound on the work of the slowest
  /// holder. Holders that exceed this level even with one layer per chunk are excluded.
  double level() const {
    double all = layer_ * static_cast<double>(layers_), mean = 0;
    for (Count h = 0; h < holders_.size(); ++h) all += besides(h);
    auto sharing = static_cast<double>(holders_.size());
    InplaceVector<bool, max_layers> out;
    for (Count h = 0; h < holders_.size(); ++h) out.push(false);
    for (bool found = true; found && sharing > 0;) {
      found = false;
      mean = all / sharing;
      for (Count h = 0; h < holders_.size(); ++h) {
        const double least = layer_ * static_cast<double>(p_.chunks) + besides(h);
        if (out[static_cast<std::size_t>(h)] || least <= mean) continue;
        out[static_cast<std::size_t>(h)] = found = true;
        all -= least;
        sharing -= 1;
      }
    }
    return mean;
  }
  /// Assigns to every holder the layers that fit below `level`, at least one per chunk. Returns the number of layers
  /// assigned.
  Count hold_below(double level) {
    held_ = {};
    Count all = 0;
    const double both = layer_ + recomputed_, recomputed = static_cast<double>(p_.chunks * costs_.first_recomputed);
    for (Count h = 0; h < holders_.size(); ++h) {
      const double room = level * rounding - besides(h);
      const double n = layer_ <= 0                ? 0
                       : room > both * recomputed ? (room - recomputed_ * recomputed) / layer_
                                                  : room / both;
      all += held_.push(std::max(p_.chunks, static_cast<Count>(std::clamp(n, 0.0, 1e6))));
    }
    return all;
  }

  Count& of(Count h) { return held_[static_cast<std::size_t>(h)]; }
  double& load(Count h) { return loads_[static_cast<std::size_t>(h)]; }
  /// Work of a holder including one more layer.
  double with_another(Count h) {
    const Count n = of(h) + 1, twice = std::min(n, p_.chunks * costs_.first_recomputed);
    return layer_ * static_cast<double>(n) + recomputed_ * static_cast<double>(twice) + besides(h);
  }
  bool is_between(Count h) const { return h != first_ && h != last_; }
  /// The next holder in turn after h that has neither embedding nor head; first_ if there is none.
  Count after(Count h) const {
    for (Count n = 0; n < holders_.size(); ++n) {
      h = h == 0 ? holders_.size() - 1 : h - 1;
      if (is_between(h)) return h;
    }
    return first_;
  }
  /// The holder whose work including one more layer is least. With one kind of layer, all holders between the ends
  /// are equal, and only `next` is considered.
  Count least_loaded(Count next) {
    Count least = first_;
    const auto consider = [&](Count h) {
      const double mine = load(h), other = load(least);
      if (mine < other * rounding || (mine * rounding <= other && h > least)) least = h;
    };
    consider(last_);
    if (kinds_.size() == 1)
      consider(next);
    else
      for (Count h = 0; h < holders_.size(); ++h) consider(h);
    return least;
  }

  /// Distributes a holder's layers over its chunks. The first and the last chunk of the model get fewer layers, to
  /// compensate for the embedding and the head, unless layers are recomputed per chunk. All other chunks have the
  /// same length, or the first few are one layer longer.
  void share_out(Count h, Shares& layers) const {
    const auto at = [&](Count q) -> Count& { return layers[static_cast<std::size_t>(q)]; };
    const Count mine = held_[static_cast<std::size_t>(h)];
    Count left = mine, chunks = p_.chunks, end = -1;
    const double level = (layer_ * static_cast<double>(mine) + ends_of(h)) / static_cast<double>(chunks);
    const auto is_end = [&](Count q) { return costs_.first_recomputed == 0 && end_cost(q) > 0; };
    const auto for_each_of = [&](bool ends, const auto& f) {
      for (Count i = 0; i < p_.chunks; ++i)
        if (const Count q = model_chunk(p_, h, i); !ends || !is_between(h))
          if (is_end(q) == ends) f(q);
    };
    for_each_of(true, [&](Count q) {
      const double share = layer_ > 0 ? (level - end_cost(q)) / layer_ : 1;
      at(end = q) = std::clamp<Count>(static_cast<Count>(std::clamp(share + 0.5, 0.0, 1e6)), 1, left - (chunks - 1));
      left -= at(q);
      --chunks;
    });
    if (chunks == 0) at(end) += left;
    if (chunks == 0) return;
    Count longer = left % chunks;
    const Count even = left / chunks;
    for_each_of(false, [&](Count q) { at(q) = even + (longer-- > 0 ? 1 : 0); });
  }
  double end_cost(Count q) const {
    return (q == 0 ? costs_.embedding : 0) + (q + 1 == model_chunks(p_) ? costs_.head : 0);
  }
  double ends_of(Count h) const { return (h == first_ ? costs_.embedding : 0) + (h == last_ ? costs_.head : 0); }

  /// Adds to every holder's load the difference between the cost of its layers and the cost of the same number of
  /// mean layers. Returns the quality of the distribution: the load of the slowest holder, which bounds the time,
  /// plus the sum of the longest first chunk, the longest second chunk, and so on, which is the time if holders wait
  /// for one another after each chunk.
  double correct(const Partition& p, const LayerCosts& all) {
    double slowest = 0;
    InplaceVector<double, most_chunks> longest;
    for (Count i = 0; i < p_.chunks; ++i) longest.push(0);
    for (Count h = 0; h < holders_.size(); ++h) {
      double load = 0;
      Count n = 0;
      std::size_t i = 0;
      holders_.for_each_chunk(h, [&](Count q) {
        const double time = all.of(q, p[q].first, p[q].end);
        load += time;
        n += p[q].layers();
        longest[i] = std::max(longest[i], time);
        ++i;
      });
      besides_[static_cast<std::size_t>(h)] = load - layer_ * static_cast<double>(n);
      slowest = std::max(slowest, load);
    }
    return slowest + std::accumulate(longest.begin(), longest.end(), 0.0);
  }

  const LayerKinds& kinds_;
  const RowCosts& costs_;
  const Pipeline& p_;
  Holders holders_;
  Count layers_, first_, last_;
  double layer_ = 0, recomputed_ = 0;
  InplaceVector<double, max_layers> besides_;  // each holder's work in excess of its layers at mean cost
  InplaceVector<Count, max_layers> held_;
  InplaceVector<double, max_layers> loads_;  // load of each holder with one more layer
};

}  // namespace

RowCosts row_costs(const RowTimes& times, const LayerKinds& kinds) {
  const auto all = [&](const RowTime& t) {
    const Seconds work = t.forward.total() + t.backward(), experts = t.experts_forward + t.experts_backward;
    if (experts <= Seconds()) return work.value;
    const Seconds apart = work - t.forward[Part::ep] - t.backward_input[Part::ep] - t.backward_weight[Part::ep];
    return std::min(work, beside(apart, experts, times.hidden)).value;
  };
  RowCosts c{
      .embedding = all(times.embedding()), .head = all(times.head()), .first_recomputed = times.first_recomputed};
  for (const RowTime& part : times.mtp()) c.head += static_cast<double>(times.modules) * all(part);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    c.layer[k] = all(times.layer(k));
    if (times.first_recomputed > 0) c.recomputed[k] = all(times.layer(k, true)) - c.layer[k];
  }
  return c;
}

bool waits_for_weights(const Layout& layout) { return layout.zero == Zero::weights && shares_parameters(layout); }

RowCosts row_costs(const Prices& prices, const RowTimes& times, const Layout& layout, Count micro_batches) {
  RowCosts c = row_costs(times, prices.kinds);
  if (!waits_for_weights(layout)) return c;
  const auto waiting = [&](Count first, Count end, bool embedding, bool head) {
    return chunk_seconds(prices, times, layout, {first, end, embedding, head}, micro_batches).waiting.value;
  };
  const Count layers = layers_of(prices.kinds), few = std::min<Count>(layers, 2);
  c.embedding += waiting(0, few, true, false) - waiting(0, few, false, false);
  c.head += waiting(layers - few, layers, false, true) - waiting(layers - few, layers, false, false);
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) {
    const Count here = prices.kinds[k].last, before = std::max<Count>(0, here - 2);
    c.layer[k] += waiting(before, here + 1, false, false) - (here > before ? waiting(before, here, false, false) : 0);
  }
  return c;
}

RowCosts row_costs(const Prices& prices) {
  const auto all = [](const LayerPrice& row) { return static_cast<double>(row.whole.executed.value); };
  RowCosts c{.embedding = all(prices.embedding()), .head = all(prices.head())};
  for (const LayerPrice& part : prices.mtp()) c.head += static_cast<double>(part.layers) * all(part);
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) c.layer[k] = all(prices.layer(k));
  return c;
}

Partition balanced(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline) {
  if (model_chunks(pipeline) == 1) {
    const Count all = layers_of(kinds);
    return stated({&all, 1});
  }
  return pipeline.chunks > 1 || kinds.size() == 1 ? Dealer(kinds, costs, pipeline).deal()
                                                  : even_cut(LayerCosts(kinds, costs, model_chunks(pipeline)));
}

Partition stated(std::span<const Count> layers) {
  Partition p;
  Count end = 0;
  for (const Count n : layers) p.end_at(end += n);
  return p;
}

}  // namespace llmcalc
