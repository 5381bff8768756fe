#pragma once
/// xIELU, an activation with two learned numbers per layer.

#include "model/cpu/aligned.hpp"
#include "model/cpu/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
Xielu<Wide<T>> bent(const T* bends) {
  return {wide(bends[0]), wide(bends[1])};
}

template <typename T>
void xielu(Count n, const T* bends, const T* x, T* y) {
  const auto f = bent(bends);
  put_everywhere<T>(n, y, [=](Count i) { return f.value(wide(x[i])); });
}

/// Sums over blocks of fixed size, so that they do not depend on the threads.
template <typename T>
void xielu_gradient(Count n, const T* bends, const T* x, const T* dy, T* dx, bool add, Wide<T>* dbends) {
  using W = Wide<T>;
  constexpr Count block = 4096;
  const auto f = bent(bends);
  const Count blocks = (n + block - 1) / block;
  Aligned<W> sums(static_cast<std::size_t>(2 * blocks));
  each<T>(blocks, block, [&](Count b) {
    const Count first = b * block, size = std::min(block, n - first);
    const T *from = x + first, *d = dy + first;
    W* const mine = sums.data() + 2 * b;
    mine[0] = sum_of<W>(size, [=](Count i) { return wide(d[i]) * f.by_up(wide(from[i])); });
    mine[1] = sum_of<W>(size, [=](Count i) { return wide(d[i]) * f.by_down(wide(from[i])); });
    put_lanes(0, size, dx + first, add, [=](Count i) { return wide(d[i]) * f.slope(wide(from[i])); });
  });
  if (dbends == nullptr) return;
  for (Count i = 0; i < 2; ++i) {
    const W slope = sigmoid(wide(bends[i]));
    for (Count b = 0; b < blocks; ++b) dbends[i] += slope * sums[static_cast<std::size_t>(2 * b + i)];
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
