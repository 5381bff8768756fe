#pragma once
/// Exact arithmetic for the closed forms, with 127-bit integers and their fractions. Code can follow the formula on
/// paper, because no intermediate result is rounded or silently overflows.
///
/// Formulas are templates over a number type N. Instantiated with fractions, they check the engine; instantiated with
/// expressions, they explain it. N provides + - * / ==, floor, ceil, min, max and quotient_up.

#include <utility>

#include "calc/units.hpp"

namespace llmcalc::textbook {

/// An integer below 2^127. Every operation is checked for overflow.
class Exact {
 public:
  constexpr Exact(Count v = 0) : v_(v) {}  // NOLINT: implicit, so that formulas read like formulas
  constexpr explicit Exact(Flops f) : v_(static_cast<__int128>(f.value)) {
    if (v_ < 0) throw Overflow();
  }
  constexpr bool operator==(const Exact&) const = default;
  constexpr auto operator<=>(const Exact&) const = default;

  friend constexpr Exact operator+(Exact a, Exact b) {
    if (__builtin_add_overflow(a.v_, b.v_, &a.v_)) throw Overflow();
    return a;
  }
  friend constexpr Exact operator-(Exact a, Exact b) {
    if (__builtin_sub_overflow(a.v_, b.v_, &a.v_)) throw Overflow();
    return a;
  }
  friend constexpr Exact operator*(Exact a, Exact b) {
    if (__builtin_mul_overflow(a.v_, b.v_, &a.v_)) throw Overflow();
    return a;
  }
  /// Integer quotient, rounded toward 0. b > 0.
  friend constexpr Exact operator/(Exact a, Exact b) {
    a.v_ /= b.v_;
    return a;
  }
  friend constexpr Exact operator%(Exact a, Exact b) {
    a.v_ %= b.v_;
    return a;
  }

  constexpr Count count() const {
    const auto c = static_cast<Count>(v_);
    if (c != v_) throw Overflow();
    return c;
  }
  constexpr Bytes bytes() const { return Bytes(count()); }
  constexpr Flops flops() const {
    if (v_ < 0) throw Overflow();
    return Flops(static_cast<Int128>(v_));
  }
  constexpr double real() const { return static_cast<double>(v_); }

 private:
  __int128 v_;
};

/// a/b rounded up, for a >= 0 and b > 0.
constexpr Exact ceil(Exact a, Exact b) { return (a + b - 1) / b; }

/// A fraction in lowest terms, denominator > 0.
struct Fraction {
  Exact numerator, denominator = 1;

  constexpr Fraction(Count whole = 0) : numerator(whole) {}  // NOLINT: implicit
  constexpr Fraction(Exact a, Exact b) : numerator(a), denominator(b) {
    if (b == Exact(1)) return;
    Exact g = divisor(a, b);
    if (b < Exact(0)) g = Exact(0) - g;
    numerator = a / g;
    denominator = b / g;
  }
  constexpr bool operator==(const Fraction&) const = default;
  constexpr bool whole() const { return denominator == Exact(1); }
  constexpr double value() const { return numerator.real() / denominator.real(); }
  /// The value as an integer. Throws Overflow if it is not an integer.
  constexpr Exact exact() const {
    if (!whole()) throw Overflow();
    return numerator;
  }
  constexpr Count count() const { return exact().count(); }
  constexpr Flops flops() const { return exact().flops(); }
  constexpr Bytes bytes() const { return exact().bytes(); }

 private:
  static constexpr Exact divisor(Exact a, Exact b) {
    if (a < Exact(0)) a = Exact(0) - a;
    if (b < Exact(0)) b = Exact(0) - b;
    while (b != Exact(0)) a = std::exchange(b, a % b);
    return a == Exact(0) ? Exact(1) : a;
  }
};
constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
  if (a.denominator == b.denominator) return {a.numerator + b.numerator, a.denominator};
  return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
}
constexpr Fraction operator*(const Fraction& a, const Fraction& b) {
  if (a.whole() && b.whole()) return {a.numerator * b.numerator, 1};
  const Fraction x(a.numerator, b.denominator), y(b.numerator, a.denominator);  // cancel first
  return {x.numerator * y.numerator, x.denominator * y.denominator};
}
constexpr Fraction operator-(const Fraction& a, const Fraction& b) { return a + Fraction(-1) * b; }
constexpr Fraction operator/(const Fraction& a, const Fraction& b) { return a * Fraction(b.denominator, b.numerator); }
constexpr bool operator<(const Fraction& a, const Fraction& b) { return (a - b).numerator < Exact(0); }

constexpr Fraction floor(const Fraction& a) {
  const Exact down = a.numerator / a.denominator;  // rounded toward 0
  return {a.numerator < down * a.denominator ? down - 1 : down, 1};
}
constexpr Fraction ceil(const Fraction& a) { return Fraction() - floor(Fraction() - a); }
constexpr Fraction min(const Fraction& a, const Fraction& b) { return b < a ? b : a; }
constexpr Fraction max(const Fraction& a, const Fraction& b) { return a < b ? b : a; }
/// a/b rounded up, which is the largest share among b ranks, groups or chunks.
constexpr Fraction quotient_up(const Fraction& a, const Fraction& b) {
  return a.whole() && b == Fraction(1) ? a : ceil(a / b);
}

}  // namespace llmcalc::textbook
