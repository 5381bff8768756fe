#include "report/explain/expr.hpp"

#include <algorithm>

#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

using textbook::Exact;
using textbook::Fraction;

std::string whole_text(const Exact& n) { return digits(n.flops().value); }

bool same_factors(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool is_quotient(const std::string& factor) {
  return factor.front() != '(' && factor.find('/') != std::string::npos && factor.find('(') == std::string::npos;
}

/// The factor to the power n: "D", "D^2", "(A/T)^2".
std::string power(const std::string& factor, std::ptrdiff_t n) {
  if (n == 1) return factor;
  return (is_quotient(factor) ? "(" + factor + ")" : factor) + "^" + std::to_string(n);
}

/// The factors in order of first appearance, with equal factors combined into a power.
std::string product_of(const std::vector<std::string>& factors) {
  std::string s;
  for (auto f = factors.begin(); f != factors.end(); ++f) {
    if (std::find(factors.begin(), f, *f) != f) continue;
    s += (s.empty() ? "" : "*") + power(*f, std::count(f, factors.end(), *f));
  }
  return s;
}

Fraction magnitude(const Fraction& f) { return f < Fraction(0) ? Fraction(0) - f : f; }

std::string call(const char* function, const std::string& arguments) {
  return std::string(function) + "(" + arguments + ")";
}

}  // namespace

Expr::Expr(const Expr&) = default;
Expr::Expr(Expr&&) noexcept = default;
Expr& Expr::operator=(const Expr&) = default;
Expr& Expr::operator=(Expr&&) noexcept = default;
Expr::~Expr() = default;

Expr::Expr(Count n) : Expr(Fraction(n)) {}
Expr::Expr(const Fraction& n) : value_(n) {
  if (!(n == Fraction(0))) terms_.push_back({n, {}});
}
Expr::Expr(std::string letter, const Fraction& value) : terms_{{1, {std::move(letter)}}}, value_(value) {}

/// The text of a term without its sign: "2*D*A/3".
std::string Expr::text(const Term& t) {
  const Fraction times = magnitude(t.times);
  const std::string product = product_of(t.factors);
  std::string s = product;
  if (product.empty() || !(times.numerator == Exact(1)))
    s = whole_text(times.numerator) + (product.empty() ? "" : "*" + product);
  return times.whole() ? s : s + "/" + whole_text(times.denominator);
}

std::string Expr::text() const {
  std::string s;
  for (const Term& t : terms_) {
    const bool negative = t.times < Fraction(0);
    if (s.empty())
      s = (negative ? "-" : "") + text(t);
    else
      s += (negative ? " - " : " + ") + text(t);
  }
  return s.empty() ? "0" : s;
}

void Expr::add(const Term& t) {
  const auto like =
      std::find_if(terms_.begin(), terms_.end(), [&](const Term& x) { return same_factors(x.factors, t.factors); });
  if (like == terms_.end()) {
    terms_.push_back(t);
    return;
  }
  like->times = like->times + t.times;
  if (like->times == Fraction(0)) terms_.erase(like);
}

/// Multiplies the expression into a term; a sum becomes one factor.
void Expr::multiply_into(Term& t) const {
  if (terms_.size() != 1) {
    t.factors.push_back("(" + text() + ")");
    return;
  }
  t.times = t.times * terms_[0].times;
  t.factors.insert(t.factors.end(), terms_[0].factors.begin(), terms_[0].factors.end());
}
Expr::Term Expr::as_term() const {
  Term t{1, {}};
  multiply_into(t);
  return t;
}

Expr operator+(const Expr& a, const Expr& b) {
  Expr sum = a;
  for (const Expr::Term& t : b.terms_) sum.add(t);
  sum.value_ = a.value_ + b.value_;
  return sum;
}

Expr operator-(const Expr& a, const Expr& b) {
  Expr sum = a;
  for (Expr::Term t : b.terms_) {
    t.times = Fraction(-1) * t.times;
    sum.add(t);
  }
  sum.value_ = a.value_ - b.value_;
  return sum;
}

Expr operator*(const Expr& a, const Expr& b) {
  if (a.terms_.empty() || b.terms_.empty()) return 0;
  if (a.is_one()) return b;
  if (b.is_one()) return a;
  Expr product;
  Expr::Term& t = product.terms_.emplace_back(Expr::Term{1, {}});
  t.factors.reserve(a.terms_[0].factors.size() + b.terms_[0].factors.size() + 1);
  a.multiply_into(t);
  b.multiply_into(t);
  product.value_ = a.value_ * b.value_;
  return product;
}

Expr operator/(const Expr& a, const Expr& b) {
  if (a.terms_.empty() || b.is_one()) return a;
  Expr::Term t = a.as_term();
  const Expr::Term by = b.as_term();
  if (by.factors.empty()) {
    t.times = t.times / by.times;
  } else {
    const std::string below = b.text();
    const bool compound = below.find_first_of("*/ ^") != std::string::npos && below.front() != '(';
    const std::string above = t.factors.empty() ? Expr::text(t) : product_of(t.factors);
    if (t.factors.empty()) t.times = 1;
    t.factors = {above + "/" + (compound || b.terms_.size() > 1 ? "(" + below + ")" : below)};
  }
  Expr quotient;
  quotient.terms_.push_back(std::move(t));
  quotient.value_ = a.value_ / b.value_;
  return quotient;
}

Expr floor(const Expr& a) { return {call("floor", a.text()), floor(a.value())}; }
Expr ceil(const Expr& a) { return {call("ceil", a.text()), ceil(a.value())}; }
Expr min(const Expr& a, const Expr& b) { return {call("min", a.text() + ", " + b.text()), min(a.value(), b.value())}; }
Expr max(const Expr& a, const Expr& b) { return {call("max", a.text() + ", " + b.text()), max(a.value(), b.value())}; }

Expr quotient_up(const Expr& a, const Expr& b) {
  const Expr q = a / b;
  return q.value().whole() ? q : ceil(q);
}

}  // namespace llmcalc::explain
