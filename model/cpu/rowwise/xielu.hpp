#pragma once
/// xIELU, an activation with two learned parameters per layer, optionally multiplied by a second operand.

#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
Xielu<Wide<T>> bent(const T* bends) {
  return {wide(bends[0]), wide(bends[1])};
}

/// y = xIELU(x) b; null b: all ones.
template <typename T>
void xielu(Count n, const T* bends, const T* x, const T* b, T* y) {
  const auto f = bent(bends);
  if (b != nullptr)
    put_everywhere<T>(n, y, [=](Count i) { return f.value(wide(x[i])) * wide(b[i]); });
  else
    put_everywhere<T>(n, y, [=](Count i) { return f.value(wide(x[i])); });
}

/// Sums in blocks of fixed size, so that the results do not depend on the number of threads.
template <typename T>
void xielu_gradient(Count n, const T* bends, const T* x, const T* b, const T* dy, T* dx, bool add_x, T* db, bool add_b,
                    Wide<T>* dbends) {
  using W = Wide<T>;
  constexpr Count block = 4096;
  const auto f = bent(bends);
  const Count blocks = (n + block - 1) / block;
  Aligned<W> sums(static_cast<std::size_t>(2 * blocks));
  each<T>(blocks, block, [&](Count at) {
    const Count first = at * block, last = std::min(n, first + block);
    Aligned<W> d(static_cast<std::size_t>(last - first));  // gradient of xIELU's result
    for (Count i = first; i < last; ++i)
      d[static_cast<std::size_t>(i - first)] = b != nullptr ? wide(dy[i]) * wide(b[i]) : wide(dy[i]);
    const W* const of = d.data() - first;
    const auto sum = [&](const auto& part) {
      return sum_of<W>(last - first, [&](Count i) { return of[first + i] * part(wide(x[first + i])); });
    };
    sums[static_cast<std::size_t>(2 * at)] = sum([](W v) { return Xielu<W>::by_up(v); });
    sums[static_cast<std::size_t>(2 * at + 1)] = sum([](W v) { return Xielu<W>::by_down(v); });
    if (b != nullptr) put_lanes(first, last, db, add_b, [=](Count i) { return wide(dy[i]) * f.value(wide(x[i])); });
    put_lanes(first, last, dx, add_x, [=](Count i) { return of[i] * f.slope(wide(x[i])); });
  });
  if (dbends == nullptr) return;
  for (Count i = 0; i < 2; ++i) {
    const W slope = sigmoid(wide(bends[i]));
    for (Count at = 0; at < blocks; ++at) dbends[i] += slope * sums[static_cast<std::size_t>(2 * at + i)];
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
