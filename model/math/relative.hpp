#pragma once
/// Relative positions: buckets of distances between query and key, each with a learned bias per head.

#include <cmath>

#include "calc/units.hpp"

namespace llmcalc::model {

/// T5's buckets (Raffel et al. 2020, arXiv:1910.10683, 2.1; hf t5/modeling_t5.py): half of them have one distance each,
/// the others grow by a constant factor up to `farthest`, and the last includes all larger distances. In a
/// bidirectional stack, keys up to the query use the first half of the buckets and later keys the second. If there is
/// only one bucket, it covers all distances.
struct DistanceRanges {
  Count ranges = 0, farthest = 0;
  bool both_ways = false;

  /// The bucket of a key `ahead` tokens after the query; `ahead` is never positive in a causal stack.
  Count of(Count ahead) const {
    const Count half = ranges / 2;
    if (!both_ways) return among(ranges, ahead < 0 ? -ahead : 0);
    return (ahead > 0 ? half : 0) + among(half, ahead < 0 ? -ahead : ahead);
  }

 private:
  /// Computed in float32, as in T5's training: precision matters at bucket boundaries.
  Count among(Count n, Count distance) const {
    const Count exact = n / 2;
    if (n < 2 || distance < exact) return n < 2 ? 0 : distance;
    if (farthest <= exact) return n - 1;
    const float steps = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(exact))) *
                        static_cast<float>(n - exact);
    const Count range = exact + static_cast<Count>(steps);
    return range < n ? range : n - 1;
  }
};

}  // namespace llmcalc::model
