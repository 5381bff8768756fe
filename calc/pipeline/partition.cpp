#include "calc/pipeline/partition.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "calc/pipeline/chunk_time.hpp"

namespace llmcalc {
namespace {

Count layers_of(const LayerKinds& kinds) { return whole_model(kinds).end; }

/// Prefix sums of layer costs, which give the cost of any interval of layers.
class LayerCosts {
 public:
  LayerCosts(const LayerKinds& kinds, const RowCosts& costs, Count chunks) : costs_(costs), chunks_(chunks) {
    layers_ = layers_of(kinds);
    double all = 0, again = 0;
    up_to_.push(all);
    recomputed_.push(again);
    for (Count i = 0; i < layers_; ++i) {
      const std::size_t kind = kind_index(kinds, i);
      up_to_.push(all += costs.layer[kind]);
      if (costs.first_recomputed > 0) recomputed_.push(again += costs.recomputed[kind]);
    }
  }
  Count layers() const { return layers_; }
  Count chunks() const { return chunks_; }
  double at(Count layer) const { return up_to_[static_cast<std::size_t>(layer)]; }
  /// Cost of chunk i with layers [first, end).
  double of(Count i, Count first, Count end) const {
    double cost = at(end) - at(first);
    if (costs_.first_recomputed > 0)
      cost += recomputed(std::min(end, first + costs_.first_recomputed)) - recomputed(first);
    return cost + (i == 0 ? costs_.embedding : 0) + (i + 1 == chunks_ ? costs_.head : 0);
  }
  /// Cost of all chunks, without recomputation.
  double all() const { return at(layers_) + costs_.embedding + costs_.head; }

  /// The last possible end of chunk i: every later chunk needs at least one layer.
  Count last_end(Count i) const { return layers_ - (chunks_ - 1 - i); }
  /// The last possible end of chunk i, which begins at `first`, with a cost of at most `most`. The chunk has at least
  /// one layer and leaves at least one for each later chunk. `length`: initial guess for the chunk's length.
  Count furthest(Count i, Count first, double most, Count length = 1) const {
    const Count high = last_end(i);
    Count end = std::min(first + length, high);
    while (end < high && of(i, first, end + 1) <= most) ++end;
    while (end > first + 1 && of(i, first, end) > most) --end;
    return end;
  }

 private:
  double recomputed(Count layer) const { return recomputed_[static_cast<std::size_t>(layer)]; }

  const RowCosts& costs_;
  Count layers_ = 0, chunks_;
  InplaceVector<double, max_layers + 1> up_to_;
  InplaceVector<double, max_layers + 1> recomputed_;  // prefix sums of recomputation costs, if any
};

/// Chunks that are each as long as a limit allows.
struct Filled {
  double largest = 0;                                     ///< cost of the largest chunk
  double next = std::numeric_limits<double>::infinity();  ///< smallest higher limit that lengthens a chunk
};
Filled filled(const LayerCosts& c, double most) {
  Filled f;
  Count first = 0, length = 1;
  for (Count i = 0; i < c.chunks(); ++i) {
    const bool last = i + 1 == c.chunks();
    const Count end = last ? c.layers() : c.furthest(i, first, most, length);
    f.largest = std::max(f.largest, c.of(i, first, end));
    if (end < c.last_end(i)) f.next = std::min(f.next, c.of(i, first, end + 1));
    length = end - first;
    first = end;
  }
  return f;
}

/// Cost of the largest chunk if all have the same number of layers, or the first ones have one more.
double even_maximum(const LayerCosts& c) {
  double largest = 0;
  Count first = 0;
  for (Count i = 0; i < c.chunks(); ++i) {
    const Count end = first + c.layers() / c.chunks() + (i < c.layers() % c.chunks() ? 1 : 0);
    largest = std::max(largest, c.of(i, first, end));
    first = end;
  }
  return largest;
}

/// The smallest possible cost of the largest chunk. The limits tried are costs of possible chunks: a limit that is too
/// small is followed by the next one that changes a chunk, or by the middle of the remaining interval.
double smallest_maximum(const LayerCosts& c) {
  double low = c.all() / static_cast<double>(c.chunks()), high = even_maximum(c);
  while (low < high) {
    const Filled least = filled(c, low);
    if (least.largest <= low) return least.largest;
    high = std::min(high, least.largest);
    low = least.next;
    const double middle = 0.5 * (low + high);
    if (middle >= high || middle <= low) continue;
    const Filled f = filled(c, middle);
    if (f.largest > middle) low = std::max(low, f.next);
    high = std::min(high, f.largest);
  }
  return high;
}

/// For every chunk, the first layer from which this chunk and the later ones can take all layers at a cost of at most
/// `most` each.
InplaceVector<Count, max_layers + 1> earliest_starts(const LayerCosts& c, double most) {
  InplaceVector<Count, max_layers + 1> first;
  for (Count i = 0; i <= c.chunks(); ++i) first.push(c.layers());
  for (Count i = c.chunks() - 1; i >= 0; --i) {
    const Count end = first[static_cast<std::size_t>(i + 1)];
    Count start = std::max(i, end - 1);
    while (start > i && c.of(i, start - 1, end) <= most) --start;
    first[static_cast<std::size_t>(i)] = start;
  }
  return first;
}

/// Partition whose largest chunk is as small as possible, with each chunk as close as possible to an equal share of the
/// remaining cost.
Partition even_cut(const LayerCosts& c) {
  const double most = smallest_maximum(c) * (1 + 1e-12);
  const auto starts = earliest_starts(c, most);
  Partition p;
  Count first = 0;
  double left = c.all();
  for (Count i = 0; i + 1 < c.chunks(); ++i) {
    const double share = left / static_cast<double>(c.chunks() - i);
    const Count low = std::max(first + 1, starts[static_cast<std::size_t>(i + 1)]), high = c.furthest(i, first, most);
    Count end = std::min(low, high);
    while (end < high && share - c.of(i, first, end) > c.of(i, first, end + 1) - share) ++end;
    left -= c.of(i, first, end);
    p.end_at(end);
    first = end;
  }
  p.end_at(c.layers());
  return p;
}

/// The ranks of a pipeline that hold different chunks, several per rank: in DualPipe, r and P - 1 - r hold the same
/// two.
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

/// Deals layers one by one to the holder with the least work; on ties, to the last of them, because pipelines fill from
/// the first rank. Holders with neither embedding nor head take turns, from the last to the first.
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
      if (p == before) break;  // further deals would repeat it
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
  /// holder. Excludes holders that exceed this level even with one layer per chunk.
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
  /// Gives every holder as many layers as fit below `level`, at least one per chunk. Returns the total number of layers
  /// given.
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
  /// Work of a holder after one more layer.
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
  /// The holder that has the least work after one more layer. With one kind of layer, all holders between the ends are
  /// alike.
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

  /// Distributes a holder's layers over its chunks. The chunks at the ends of the model get fewer layers, to compensate
  /// for the embedding and the head, unless layers are recomputed per chunk. All other chunks have the same length, or
  /// the first few are one layer longer.
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

  /// Adds to every holder's load the difference between the cost of its layers and the cost of as many mean layers.
  /// Returns the quality of the distribution: the load of the slowest holder, which bounds the time, plus the sum of
  /// the longest first chunk, the longest second chunk, and so on, which is the time if holders wait for one another
  /// after each chunk.
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
  InplaceVector<double, max_layers> besides_;  // each holder's work in addition to layers of mean cost
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
