#include "calc/partition.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

Count layers_of(const LayerKinds& kinds) { return whole_model(kinds).end; }

/// LayerCosts of all layers up to one, and of any cut of them.
class LayerCosts {
 public:
  LayerCosts(const LayerKinds& kinds, const RowCosts& costs, Count chunks) : costs_(costs), chunks_(chunks) {
    layers_ = layers_of(kinds);
    for (Count i = 0; i < layers_; ++i) {
      const double one = costs.layer[kind_index(kinds, i)];
      up_to_[static_cast<std::size_t>(i + 1)] = at(i) + one;
      largest_ = std::max(largest_, one);
    }
  }
  Count layers() const { return layers_; }
  Count chunks() const { return chunks_; }
  double largest() const { return largest_; }
  double at(Count layer) const { return up_to_[static_cast<std::size_t>(layer)]; }
  /// Chunk i of layers [first, end).
  double of(Count i, Count first, Count end) const {
    return at(end) - at(first) + (i == 0 ? costs_.embedding : 0) + (i + 1 == chunks_ ? costs_.head : 0);
  }
  double all() const { return at(layers_) + costs_.embedding + costs_.head; }

  /// The last end of chunk i from `first` on that costs no more than `most`; it has a layer, and leaves one for each of
  /// the others.
  Count furthest(Count i, Count first, double most) const {
    Count low = first + 1, high = layers_ - (chunks_ - 1 - i);
    while (low < high) {
      const Count middle = low + (high - low + 1) / 2;
      if (of(i, first, middle) <= most)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
  /// The largest chunk where each is as long as `most` allows.
  double maximum(double most) const {
    double largest = 0;
    Count first = 0;
    for (Count i = 0; i < chunks_; ++i) {
      const Count end = i + 1 == chunks_ ? layers_ : furthest(i, first, most);
      largest = std::max(largest, of(i, first, end));
      first = end;
    }
    return largest;
  }

 private:
  const RowCosts& costs_;
  Count layers_ = 0, chunks_;
  double largest_ = 0;
  std::array<double, max_layers + 1> up_to_{};
};

/// The smallest maximum: what `maximum` gives falls in steps as its limit rises.
double smallest_maximum(const LayerCosts& c) {
  double low = c.all() / static_cast<double>(c.chunks()), high = c.maximum(c.all());
  if (const double best = c.maximum(low); best <= low) return best;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = 0.5 * (low + high), reached = c.maximum(middle);
    if (reached <= middle)
      high = reached;
    else
      low = middle;
  }
  return high;
}

/// For every chunk the first layer from which it and those after it can take all layers within `most`.
std::array<Count, max_layers + 1> earliest_starts(const LayerCosts& c, double most) {
  std::array<Count, max_layers + 1> first{};
  first[static_cast<std::size_t>(c.chunks())] = c.layers();
  for (Count i = c.chunks() - 1; i >= 0; --i) {
    const Count end = first[static_cast<std::size_t>(i + 1)];
    Count start = std::max(i, end - 1);
    while (start > i && c.of(i, start - 1, end) <= most) --start;
    first[static_cast<std::size_t>(i)] = start;
  }
  return first;
}

/// Cuts within the smallest maximum, each chunk as near to an equal share of the rest as it can be.
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

/// Layers of every rank, given one by one to the one with the least to do; the last of several, since pipelines fill
/// from the first. Ranks with neither embedding nor head take turns, from the last to the first.
class Dealer {
 public:
  Dealer(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline)
      : costs_(costs),
        p_(pipeline),
        layers_(layers_of(kinds)),
        first_(rank_of(pipeline, 0)),
        last_(rank_of(pipeline, model_chunks(pipeline) - 1)) {
    double all = 0;
    for (std::size_t k = 0; k < kinds.size; ++k) all += static_cast<double>(kinds.kinds[k].count) * costs.layer[k];
    layer_ = all / static_cast<double>(layers_);
    for (Count r = 0; r < p_.ranks; ++r) dealt_.push(p_.chunks);
    next_ = after(p_.ranks);
  }

  Partition deal() {
    for (Count rest = layers_ - model_chunks(p_); rest > 0; --rest) {
      const Count least = least_loaded();
      ++of(least);
      if (least == next_) next_ = after(next_);
    }
    Partition p;
    Count end = 0;
    for (Count q = 0; q < model_chunks(p_); ++q) {
      const ChunkPlace at = chunk_place(p_, q);
      const Count mine = of(at.rank);
      end += mine / p_.chunks + (at.local < mine % p_.chunks ? 1 : 0);
      p.end_at(end);
    }
    return p;
  }

 private:
  Count& of(Count r) { return dealt_[static_cast<std::size_t>(r)]; }
  double load(Count r) {
    return layer_ * static_cast<double>(of(r)) + (r == first_ ? costs_.embedding : 0) + (r == last_ ? costs_.head : 0);
  }
  bool is_between(Count r) const { return r != first_ && r != last_; }
  /// The rank without embedding and head whose turn is after r's; none: first_.
  Count after(Count r) const {
    for (Count n = 0; n < p_.ranks; ++n) {
      r = r == 0 ? p_.ranks - 1 : r - 1;
      if (is_between(r)) return r;
    }
    return first_;
  }
  Count least_loaded() {
    Count least = first_;
    for (const Count r : {last_, next_})
      if (const double mine = load(r), other = load(least); mine < other || (mine == other && r > least)) least = r;
    return least;
  }

  const RowCosts& costs_;
  const Pipeline& p_;
  Count layers_, first_, last_, next_ = 0;
  double layer_ = 0;
  InPlace<Count, max_layers> dealt_;
};

}  // namespace

RowCosts row_costs(const RowTimes& times, const LayerKinds& kinds) {
  const auto all = [](const RowTime& t) {  // but for what the host adds: it depends on how states are sharded
    const Seconds host = t.forward[Part::offload] + t.backward_input[Part::offload];
    return (t.forward.total() + t.backward() - host).value;
  };
  RowCosts c{.embedding = all(times.embedding()), .head = all(times.head())};
  for (const RowTime& part : times.mtp()) c.head += static_cast<double>(times.modules) * all(part);
  for (std::size_t k = 0; k < kinds.size; ++k) c.layer[k] = all(times.layer(k));
  return c;
}

RowCosts row_costs(const Prices& prices) {
  const auto all = [](const LayerPrice& row) { return static_cast<double>(row.whole.executed.value); };
  RowCosts c{.embedding = all(prices.embedding()), .head = all(prices.head())};
  for (const LayerPrice& part : prices.mtp()) c.head += static_cast<double>(part.layers) * all(part);
  for (std::size_t k = 0; k < prices.kinds.size; ++k) c.layer[k] = all(prices.layer(k));
  return c;
}

Partition balanced(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline) {
  if (model_chunks(pipeline) == 1) {
    const Count all = layers_of(kinds);
    return stated({&all, 1});
  }
  const bool several = pipeline.chunks > 1 && directions(pipeline) == 1;
  return several ? Dealer(kinds, costs, pipeline).deal() : even_cut(LayerCosts(kinds, costs, model_chunks(pipeline)));
}

Partition stated(std::span<const Count> layers) {
  Partition p;
  Count end = 0;
  for (const Count n : layers) p.end_at(end += n);
  return p;
}

}  // namespace llmcalc
