#pragma once
/// An evaluator of printed formulas for the tests: + - * / ^ ( ) min max ceil floor, exact or in floating point.

#include <stdexcept>
#include <string>
#include <string_view>

namespace llmcalc::expression {

/// An exact fraction of 128-bit integers in lowest terms. Throws std::overflow_error if a result does not fit.
class Fraction {
 public:
  using Int = __int128;
  Fraction(Int n = 0, Int d = 1);
  Int numerator() const { return n_; }
  Int denominator() const { return d_; }
  bool whole() const { return d_ == 1; }
  Fraction floor() const;
  Fraction operator-() const { return {-n_, d_}; }
  friend Fraction operator+(const Fraction& a, const Fraction& b);
  friend Fraction operator*(const Fraction& a, const Fraction& b);
  friend Fraction operator/(const Fraction& a, const Fraction& b);
  friend bool operator<(const Fraction& a, const Fraction& b);

 private:
  Int n_, d_;
};
std::string text(Fraction::Int n);

/// Value of an expression. Throws std::runtime_error for an invalid expression or one with a remaining symbol.
Fraction exact(std::string_view expression);
long double approximate(std::string_view expression);

}  // namespace llmcalc::expression
