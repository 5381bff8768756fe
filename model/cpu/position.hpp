#pragma once
/// Positions: rows of tables, sinusoids, rotations.

#include <cmath>
#include <vector>

#include "model/backend.hpp"
#include "model/cpu/parallel.hpp"

namespace llmcalc::model::LLMCALC_ISA {

inline constexpr double rotary_base = 10000;

/// The row of token t.
inline Count row_of_table(const std::int64_t* ids, const Positions& at, Count t) {
  return ids != nullptr ? ids[t] : at.past + t % at.queries;
}

template <typename T>
void lookup(const Lookup& s, const std::int64_t* ids, const Positions& at, const T* table, T* y) {
  each<T>(s.tokens, s.width,
          [=](Count t) { std::copy_n(table + row_of_table(ids, at, t) * s.width, s.width, y + t * s.width); });
}

/// dtable[id] += dy of every token with that id, tokens in order: each column belongs to one thread.
template <typename T>
void lookup_gradient(const Lookup& s, const std::int64_t* ids, const Positions& at, const T* dy, Wide<T>* dtable) {
  constexpr Count block = 128;
  each<T>((s.width + block - 1) / block, block * s.tokens, [=](Count c) {
    const Count first = c * block, last = std::min(s.width, first + block);
    for (Count t = 0; t < s.tokens; ++t)
      for (Count i = first; i < last; ++i) dtable[row_of_table(ids, at, t) * s.width + i] += wide(dy[t * s.width + i]);
  });
}

/// Position p: number 2i is sin(p / 10000^(2i/width)), number 2i + 1 its cosine.
template <typename T>
void add_sinusoid(const Lookup& s, const Positions& at, T* y) {
  using W = Wide<T>;
  each<T>(s.tokens, s.width, [=](Count t) {
    const double p = static_cast<double>(at.past + t % at.queries);
    for (Count i = 0; i < s.width; ++i) {
      const double angle = p * std::pow(rotary_base, -static_cast<double>(i / 2 * 2) / static_cast<double>(s.width));
      T& to = y[t * s.width + i];
      to = static_cast<T>(wide(to) + W(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  });
}

/// cos and sin of position p for every pair of a head.
template <typename W>
void angles(Count p, Count width, bool inverse, std::vector<W>& cosine, std::vector<W>& sine) {
  const std::size_t half = static_cast<std::size_t>(width / 2);
  cosine.resize(half), sine.resize(half);
  for (std::size_t i = 0; i < half; ++i) {
    const double a =
        static_cast<double>(p) * std::pow(rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    cosine[i] = W(std::cos(a)), sine[i] = W(inverse ? -std::sin(a) : std::sin(a));
  }
}

template <typename T>
void rope(Count rows, const Positions& at, T* x, Count row, Count heads, Count head, Count width, Count offset,
          bool inverse) {
  using W = Wide<T>;
  const Count half = width / 2;
  // One position after another, so that its angles are made once for all sequences.
  each<T>(at.queries, rows / at.queries * heads * width * 8, [=](Count q) {
    thread_local std::vector<W> cosine, sine;
    angles(at.past + q, width, inverse, cosine, sine);
    const W *c = cosine.data(), *s = sine.data();
    for (Count r = q; r < rows; r += at.queries)
      for (Count h = 0; h < heads; ++h) {
        T *a = x + r * row + h * head + offset, *b = a + half;
        for (Count i = 0; i < half; ++i) {
          const W left = wide(a[i]), right = wide(b[i]);
          a[i] = static_cast<T>(left * c[i] - right * s[i]);
          b[i] = static_cast<T>(right * c[i] + left * s[i]);
        }
      }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
