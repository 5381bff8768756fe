#pragma once
/// Replayable dropout (Srivastava et al. 2014): what stays is divided by 1 - p. Number i stays or goes by its counter
/// alone, so that a second pass, or flash attention's backward, throws the same dice.

#include "model/backend.hpp"
#include "model/cpu/parallel.hpp"
#include "model/random.hpp"

namespace llmcalc::model::LLMCALC_ISA {

inline bool stays(const Dropout& d, Count i) {
  const std::uint64_t at = static_cast<std::uint64_t>(i);
  return unit_float(philox(random_key(d.key), random_counter(at / 4)).word[at % 4]) >= static_cast<float>(d.p);
}

template <typename T>
void dropout(Count n, const Dropout& d, T* x, std::uint8_t* mask) {
  using W = Wide<T>;
  const W keep = number<W>(1 / (1 - d.p));
  chunks<T>(n, [=, &d](Count i, Count end) {
    for (; i < end; ++i) {
      const bool stay = stays(d, i);
      x[i] = static_cast<T>(stay ? wide(x[i]) * keep : W(0));
      if (mask != nullptr) mask[i] = stay;
    }
  });
}
template <typename T>
void dropout_gradient(Count n, const Dropout& d, const std::uint8_t* mask, T* dx) {
  using W = Wide<T>;
  const W keep = number<W>(1 / (1 - d.p));
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) dx[i] = static_cast<T>(mask[i] ? wide(dx[i]) * keep : W(0));
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
