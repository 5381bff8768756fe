#pragma once
/// A number that records its expression: textbook formulas compute with it as with fractions, and its text is the
/// formula. Combines like terms, writes integer factors first, and omits neutral zeros and ones.

#include <string>
#include <vector>

#include "calc/textbook/exact.hpp"

namespace llmcalc::explain {

class Expr {
 public:
  using Fraction = textbook::Fraction;

  Expr(Count n = 0);  // NOLINT: implicit, so that formulas read like formulas
  explicit Expr(const Fraction& n);
  Expr(std::string letter, const Fraction& value);
  // Not inline: formulas copy and destroy expressions in every operation, and inlining would repeat the code each time.
  Expr(const Expr&);
  Expr(Expr&&) noexcept;
  Expr& operator=(const Expr&);
  Expr& operator=(Expr&&) noexcept;
  ~Expr();

  const Fraction& value() const { return value_; }
  std::string text() const;  ///< the formula: "L*(2*D*A*d_h + 2*D*G*d_h)"
  /// Whether both print the same text; equal values do not suffice.
  bool operator==(const Expr& o) const { return terms_ == o.terms_; }

  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator/(const Expr& a, const Expr& b);
  friend Expr floor(const Expr& a);
  friend Expr ceil(const Expr& a);
  friend Expr min(const Expr& a, const Expr& b);
  friend Expr max(const Expr& a, const Expr& b);
  /// The quotient a/b if it is an integer, otherwise ceil(a/b).
  friend Expr quotient_up(const Expr& a, const Expr& b);

 private:
  /// A multiple of a product of symbols, and of sums in parentheses.
  struct Term {
    Fraction times;
    std::vector<std::string> factors;
    bool operator==(const Term&) const = default;
  };
  void add(const Term& t);
  bool is_one() const { return terms_.size() == 1 && terms_[0].factors.empty() && terms_[0].times == Fraction(1); }
  void multiply_into(Term& t) const;
  Term as_term() const;
  static std::string text(const Term& t);

  std::vector<Term> terms_;  ///< terms of the sum: like terms are combined, zero terms removed
  Fraction value_;
};

}  // namespace llmcalc::explain
