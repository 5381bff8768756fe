#include "tests/cli/expression.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace llmcalc::expression {
namespace {

using Int = Fraction::Int;

Int times(Int a, Int b) {
  Int r = 0;
  if (__builtin_mul_overflow(a, b, &r)) throw std::overflow_error("an expression passes 2^127");
  return r;
}
Int plus(Int a, Int b) {
  Int r = 0;
  if (__builtin_add_overflow(a, b, &r)) throw std::overflow_error("an expression passes 2^127");
  return r;
}
Int divisor(Int a, Int b) { return b == 0 ? (a < 0 ? -a : a) : divisor(b, a % b); }

Int power_of_ten(int n) { return n == 0 ? 1 : times(10, power_of_ten(n - 1)); }

/// A decimal literal: "12", "2.5", "3.35e12", "1e-05".
struct Decimal {
  Int digits = 0;
  int exponent = 0;
};
Decimal decimal(std::string_view text) {
  Decimal d;
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e))
    if (c != '.') d.digits = plus(times(d.digits, 10), c - '0');
  if (e != text.npos) d.exponent = std::stoi(std::string(text.substr(e + 1)));
  const std::size_t point = text.find('.');
  if (point != text.npos) d.exponent -= static_cast<int>(std::min(e, text.size()) - point - 1);
  return d;
}

/// The operations that differ between the two number types.
struct Exact {
  using Number = Fraction;
  static Number number(std::string_view text) {
    const Decimal d = decimal(text);
    return d.exponent >= 0 ? Fraction(times(d.digits, power_of_ten(d.exponent)))
                           : Fraction(d.digits, power_of_ten(-d.exponent));
  }
  static Number floor(const Number& x) { return x.floor(); }
  static Number power(const Number& x, const Number& n) {
    Number r = 1;
    for (Int i = 0; i < n.numerator(); ++i) r = r * x;
    return r;
  }
};
struct Floating {
  using Number = long double;
  static Number number(std::string_view text) { return std::stold(std::string(text)); }
  static Number floor(Number x) { return std::floor(x); }
  static Number power(Number x, Number n) { return std::pow(x, n); }
};

/// expression = product { (+|-) product }; product = power { (*|/) power }; power = atom [ ^ power ].
template <typename Kind>
class Parser {
 public:
  using Number = typename Kind::Number;
  explicit Parser(std::string_view text) : text_(text) {}

  Number run() {
    const Number n = expression();
    if (peek() != '\0') wrong();
    return n;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong();
  }
  [[noreturn]] void wrong() const {
    throw std::runtime_error("not an expression at '" + std::string(text_.substr(at_, 40)) + "'");
  }

  Number expression() {
    Number n = accept('-') ? -product() : product();
    for (;;) {
      if (accept('+'))
        n = n + product();
      else if (accept('-'))
        n = n + -product();
      else
        return n;
    }
  }
  Number product() {
    Number n = power();
    for (;;) {
      if (accept('*'))
        n = n * power();
      else if (accept('/'))
        n = n / power();
      else
        return n;
    }
  }
  Number power() {
    const Number n = atom();
    return accept('^') ? Kind::power(n, power()) : n;
  }
  Number atom() {
    if (accept('(')) {
      const Number n = expression();
      expect(')');
      return n;
    }
    return std::isalpha(static_cast<unsigned char>(peek())) != 0 ? call() : literal();
  }
  Number literal() {
    const std::size_t from = at_;
    const auto digit = [&] { return at_ < text_.size() && (std::isdigit(text_[at_]) != 0 || text_[at_] == '.'); };
    while (digit()) ++at_;
    if (at_ == from) wrong();
    if (at_ < text_.size() && text_[at_] == 'e') {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '-') ++at_;
      while (digit()) ++at_;
    }
    return Kind::number(text_.substr(from, at_ - from));
  }
  Number call() {
    const std::size_t from = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    expect('(');
    std::vector<Number> all{expression()};
    while (accept(',')) all.push_back(expression());
    expect(')');
    if (name == "min") return *std::min_element(all.begin(), all.end());
    if (name == "max") return *std::max_element(all.begin(), all.end());
    if (name == "floor" && all.size() == 1) return Kind::floor(all[0]);
    if (name == "ceil" && all.size() == 1) return -Kind::floor(-all[0]);
    at_ = from;
    wrong();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Fraction::Fraction(Int n, Int d) : n_(n), d_(d) {
  if (d_ == 0) throw std::runtime_error("an expression divides by zero");
  const Int g = divisor(n_, d_) * (d_ < 0 ? -1 : 1);
  n_ /= g;
  d_ /= g;
  if (d_ < 0) {
    n_ = -n_;
    d_ = -d_;
  }
}
Fraction Fraction::floor() const { return n_ >= 0 ? n_ / d_ : -((-n_ + d_ - 1) / d_); }
Fraction operator+(const Fraction& a, const Fraction& b) {
  return {plus(times(a.n_, b.d_), times(b.n_, a.d_)), times(a.d_, b.d_)};
}
Fraction operator*(const Fraction& a, const Fraction& b) {
  const Fraction x(a.n_, b.d_), y(b.n_, a.d_);  // cancel first
  return {times(x.n_, y.n_), times(x.d_, y.d_)};
}
Fraction operator/(const Fraction& a, const Fraction& b) { return a * Fraction(b.d_, b.n_); }
bool operator<(const Fraction& a, const Fraction& b) { return times(a.n_, b.d_) < times(b.n_, a.d_); }

std::string text(Int n) {
  if (n < 0) return "-" + text(-n);
  const std::string last(1, static_cast<char>('0' + static_cast<int>(n % 10)));
  return n < 10 ? last : text(n / 10) + last;
}

Fraction exact(std::string_view expression) { return Parser<Exact>(expression).run(); }
long double approximate(std::string_view expression) { return Parser<Floating>(expression).run(); }

}  // namespace llmcalc::expression
