#pragma once
/// One launch for many arrays of different lengths: each is split into segments, with a block per segment.

#include <vector>

#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/workspace.hpp"

namespace llmcalc::model::cuda {

/// Index of each array's first segment in the list of all segments; begins[arrays] is their number.
struct Stretches {
  const Count* begins;
  Count arrays;
  /// The array that contains a segment.
  LLMCALC_HD Count array_of(Count stretch) const {
    Count low = 0, high = arrays;
    while (high - low > 1) {
      const Count middle = (low + high) / 2;
      (begins[middle] <= stretch ? low : high) = middle;
    }
    return low;
  }
};

/// Computes Stretches::begins for segments of `size` pieces; pieces(array): number of pieces of an array.
template <typename Array, typename F>
std::vector<Count> stretch_begins(const std::vector<Array>& arrays, Count size, const F& pieces) {
  std::vector<Count> begins{0};
  for (const Array& a : arrays) begins.push_back(begins.back() + (pieces(a) + size - 1) / size);
  return begins;
}

/// Kernels over columns of elements, one per array.
template <typename Kernel>
struct EachOf {
  static constexpr bool alone = true;
  static constexpr Count stretch = 1024;  ///< pieces per segment
  const Kernel* kernels;
  Stretches all;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    for (Count s = t.block(); s < all.begins[all.arrays]; s += t.blocks()) {
      const Count array = all.array_of(s), begin = (s - all.begins[array]) * stretch;
      const Kernel kernel = kernels[array];
      const Count end = begin + stretch < kernel.pieces() ? begin + stretch : kernel.pieces();
      for (Count p = begin + t.index(); p < end; p += t.size()) kernel.piece(p);
    }
  }
};

}  // namespace llmcalc::model::cuda
