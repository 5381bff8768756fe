#pragma once
/// Positions: table rows, sinusoids, rotations (RoPE).

#include <cmath>
#include <vector>

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/products/narrow.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The table row of token t.
inline Count row_of_table(const std::int64_t* ids, const Positions& at, Count t) {
  return ids != nullptr ? ids[t] : at.of(t % at.queries);
}

template <typename T>
void lookup(const Lookup& s, const std::int64_t* ids, const Positions& at, const T* table, T* y) {
  each<T>(s.tokens, s.width,
          [=](Count t) { std::copy_n(table + row_of_table(ids, at, t) * s.width, s.width, y + t * s.width); });
}

/// dtable[id] += dy of every token with that id, in token order; each column belongs to one thread.
template <typename T>
void lookup_gradient(const Lookup& s, const std::int64_t* ids, const Positions& at, const T* dy, Wide<T>* dtable) {
  stripes<T>(s.width, s.tokens, [=](Count first, Count last) {
    for (Count t = 0; t < s.tokens; ++t) {
      Wide<T>* row = dtable + row_of_table(ids, at, t) * s.width;
      const T* d = dy + t * s.width;
      add_row(last - first, d + first, row + first);
    }
  });
}

/// Computes the scaled cos and sin of every pair at position p.
template <typename W>
void angles(Count p, const Rotary& r, W* cosine, W* sine) {
  const double position = static_cast<double>(p), scale = r.scale;
  const double* const frequency = r.frequency.data();
  lanes<W>(0, static_cast<Count>(r.frequency.size()), [=](Count i) {
    const auto [c, s] = cos_sin(position * frequency[i]);
    cosine[i] = W(static_cast<Plain<W>>(c * scale));
    sine[i] = W(static_cast<Plain<W>>(s * scale));
  });
}

/// Calls f(position, cosines, sines) for every position of a pass.
template <typename T, typename F>
void each_position(const Positions& at, Count width, Count work, const F& f) {
  using W = Wide<T>;
  const Rotary usual = at.rotary == nullptr ? rotary({}, width, 0) : Rotary();
  const Rotary& r = at.rotary == nullptr ? usual : *at.rotary;
  const std::size_t pairs = r.frequency.size();
  each<T>(at.queries, work, [&](Count q) {
    thread_local Aligned<W> turn;
    turn.resize(2 * pairs);
    angles(at.of(q) * at.apart, r, turn.data(), turn.data() + pairs);
    f(q, static_cast<const W*>(turn.data()), static_cast<const W*>(turn.data() + pairs));
  });
}

/// Adds the sinusoids of position p: sin(p / 10000^(2i/width)) to element 2i, its cosine to element 2i + 1.
template <typename T>
void add_sinusoid(const Lookup& s, const Positions& at, T* y) {
  using W = Wide<T>;
  Positions usual = at;
  usual.rotary = nullptr;
  each_position<T>(usual, s.width, s.tokens / at.queries * s.width, [&](Count q, const W* cosine, const W* sine) {
    for (Count t = q; t < s.tokens; t += at.queries) {
      T* row = y + t * s.width;
      lanes<T>(0, s.width / 2, [=](Count i) {
        row[2 * i] = static_cast<T>(wide(row[2 * i]) + sine[i]);
        row[2 * i + 1] = static_cast<T>(wide(row[2 * i + 1]) + cosine[i]);
      });
      if (s.width % 2 != 0) row[s.width - 1] = static_cast<T>(wide(row[s.width - 1]) + sine[s.width / 2]);
    }
  });
}

template <typename T>
void rope(Count rows, const Positions& at, T* x, Count row, Count heads, Count head, Count width, Count offset,
          bool inverse) {
  using W = Wide<T>;
  const Count half = width / 2;
  const W direction(inverse ? -1 : 1);
  // Position by position, so that angles are computed once for all sequences.
  each_position<T>(at, width, rows / at.queries * heads * width, [&](Count q, const W* c, const W* s) {
    thread_local Aligned<W> turned;
    turned.resize(static_cast<std::size_t>(width));
    for (Count r = q; r < rows; r += at.queries)
      for (Count h = 0; h < heads; ++h) {
        T *a = x + r * row + h * head + offset, *b = a + half;
        if constexpr (std::is_same_v<T, W>) {
          turn_rows(half, a, b, c, s, direction, a, b);
        } else {
          W *const first = turned.data(), *const second = first + half;
          turn_rows(half, widened(half, a, first), widened(half, b, second), c, s, direction, first, second);
          put_row(half, first, a, false);
          put_row(half, second, b, false);
        }
      }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
