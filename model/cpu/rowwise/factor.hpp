#pragma once
/// A learned scalar that multiplies all elements of a tensor.

#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
void multiply_by_learned(Count n, const T* factor, T* x) {
  const auto f = wide(factor[0]);
  put_everywhere<T>(n, x, [=, from = static_cast<const T*>(x)](Count i) { return f * wide(from[i]); });
}

/// dfactor is summed in blocks of fixed size, so that it does not depend on the number of threads.
template <typename T>
void multiply_by_learned_gradient(Count n, const T* factor, const T* y, T* dx, Wide<T>* dfactor) {
  using W = Wide<T>;
  constexpr Count block = 4096;
  const W f = wide(factor[0]);
  const Count blocks = (n + block - 1) / block;
  Aligned<W> sums(static_cast<std::size_t>(blocks));
  each<T>(blocks, block, [&](Count at) {
    const Count first = at * block, last = std::min(n, first + block);
    sums[static_cast<std::size_t>(at)] =
        sum_of<W>(last - first, [&](Count i) { return wide(dx[first + i]) * wide(y[first + i]); });
  });
  if (dfactor != nullptr)
    for (const W& sum : sums) dfactor[0] += sum / f;
  multiply_by_learned(n, factor, dx);
}

}  // namespace llmcalc::model::LLMCALC_ISA
