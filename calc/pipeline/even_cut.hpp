#pragma once
/// Division of a list of layers of several kinds into chunks of nearly equal cost.

#include <algorithm>

#include "calc/inplace_vector.hpp"
#include "calc/pipeline/partition.hpp"

namespace llmcalc {

/// Prefix sums of layer costs, which give the cost of any interval of layers.
class LayerCosts {
 public:
  LayerCosts(const LayerKinds& kinds, const RowCosts& costs, Count chunks) : costs_(costs), chunks_(chunks) {
    layers_ = whole_model(kinds).end;
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

  /// The highest possible end of chunk i: every later chunk needs at least one layer.
  Count last_end(Count i) const { return layers_ - (chunks_ - 1 - i); }
  /// The highest end at which chunk i, which begins at `first`, costs at most `most`. The chunk has at least one
  /// layer and leaves at least one for each later chunk. `length`: initial guess for the chunk's length.
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

/// Partition with the smallest possible cost of the largest chunk. Among these, each chunk in order is as close as
/// possible to an equal share of the remaining cost.
Partition even_cut(const LayerCosts& c);

}  // namespace llmcalc
