#pragma once
/// Exact arithmetic of the closed forms: 127-bit integers and fractions of them, so that a formula can be written as it
/// stands on paper and no intermediate product is lost.

#include "calc/units.hpp"

namespace llmcalc::textbook {

/// An integer below 2^127, checked on every operation.
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
  /// Whole quotient; the remainder is dropped. b > 0.
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
    return Flops(static_cast<Wide>(v_));
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
  constexpr Fraction(Exact a, Exact b) {
    const Exact g = divisor(a, b);
    numerator = a / g, denominator = b / g;
  }
  constexpr bool operator==(const Fraction&) const = default;
  constexpr bool whole() const { return denominator == Exact(1); }
  constexpr double value() const { return numerator.real() / denominator.real(); }

 private:
  static constexpr Exact divisor(Exact a, Exact b) {
    if (a < Exact(0)) a = Exact(0) - a;
    while (b != Exact(0)) {
      const Exact r = a % b;
      a = b, b = r;
    }
    return a == Exact(0) ? Exact(1) : a;
  }
};
constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
  return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
}
constexpr Fraction operator*(const Fraction& a, const Fraction& b) {
  return {a.numerator * b.numerator, a.denominator * b.denominator};
}

}  // namespace llmcalc::textbook
