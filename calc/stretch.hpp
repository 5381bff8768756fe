#pragma once
/// Piecewise linear functions of the context: the times of decode steps.

#include "calc/arch.hpp"

namespace llmcalc {

/// Seconds at the datasheet's rates and at the estimated rates.
struct BothSeconds {
  double bound = 0, estimate = 0;
};
constexpr BothSeconds operator+(BothSeconds a, BothSeconds b) { return {a.bound + b.bound, a.estimate + b.estimate}; }
constexpr BothSeconds operator*(double n, BothSeconds a) { return {n * a.bound, n * a.estimate}; }

/// The interval [from, to] over which a function is linear, and its values at both ends.
struct Stretch {
  Count from = 0, to = 0;
  BothSeconds first, last;

  Count size() const { return to - from + 1; }
  BothSeconds sum() const { return 0.5 * static_cast<double>(size()) * (first + last); }
};

/// Whether f is linear on the interval, judged at the midpoint and the quarter points.
template <typename F>
bool is_straight(const Stretch& s, const F& f) {
  const auto near = [](double x, double line) { return (x - line) * (x - line) <= 1e-24 * line * line; };
  const auto on_line = [&](Count i) {
    const double x = static_cast<double>(i - s.from) / static_cast<double>(s.to - s.from);
    const BothSeconds line = (1 - x) * s.first + x * s.last, here = f(i);
    return near(here.bound, line.bound) && near(here.estimate, line.estimate);
  };
  const Count middle = s.from + (s.to - s.from) / 2;
  return s.to - s.from < 2 ||
         (on_line(middle) && on_line(s.from + (s.to - s.from) / 4) && on_line(middle + (s.to - middle) / 2));
}

/// Calls visit(Stretch) for the linear intervals of [from, to], in order. Halves the range until f is linear on each
/// part.
template <typename F, typename Visit>
void for_each_stretch(Count from, Count to, const F& f, const Visit& visit) {
  if (to < from) return;
  const Stretch whole{from, to, f(from), f(to)};
  if (is_straight(whole, f)) return visit(whole);
  const Count middle = from + (to - from) / 2;
  for_each_stretch(from, middle, f, visit);
  for_each_stretch(middle + 1, to, f, visit);
}

/// Like the overload above, for a function that may also jump at the start of each attention chunk.
template <typename F, typename Visit>
void for_each_stretch(Count from, Count to, const Reach& reach, const F& f, const Visit& visit) {
  for (Count end = 0; from <= to; from = end + 1) {
    end = reach.chunked ? reach.end(from - 1, to) : to;  // the last context of a chunk; contexts count from 1
    for_each_stretch(from, end, f, visit);
  }
}

}  // namespace llmcalc
