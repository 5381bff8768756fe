#include "tests/golden_values/golden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

const Row* row(std::string_view quantity) {
  for (const auto rows : {model_rows(), memory_rows(), time_rows(), parallel_rows()})
    for (const Row& r : rows)
      if (r.quantity == quantity) return &r;
  return nullptr;
}

bool is_whole(std::string_view value) {
  return !value.empty() && value.find_first_not_of("0123456789", value.front() == '-' ? 1 : 0) == std::string::npos;
}

/// Parses an integer digit by digit, without going through a double.
textbook::Exact parsed(std::string_view digits) {
  textbook::Exact n = 0;
  for (const char c : digits)
    if (c != '-') n = n * 10 + (c - '0');
  return digits.front() == '-' ? textbook::Exact(0) - n : n;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

double real_of(const Number& n) {
  if (const auto* f = std::get_if<textbook::Fraction>(&n)) return f->value();
  return std::get<double>(n);
}

std::string digits(textbook::Exact n) {
  if (n < textbook::Exact(0)) return "-" + digits(textbook::Exact(0) - n);
  const std::string last(1, static_cast<char>('0' + (n % 10).count()));
  return n < textbook::Exact(10) ? last : digits(n / 10) + last;
}

Case read(const json::Value& value, const std::string& where) {
  const json::Object o(value, where);
  Case c{.id = o.text("id"),
         .quantity = o.text("quantity"),
         .inputs = o.object("inputs").value(),
         .value = o.text("value"),
         .unit = o.text("unit"),
         .convention = o.text("convention")};
  o.refuse_unread();
  return c;
}

}  // namespace

std::vector<Case> cases(std::string_view text, const std::string& where) {
  const json::Value document = json::parse(text, where);
  if (!document.is_array()) throw InputError(where + " holds no list; golden cases are a list of objects");
  std::vector<Case> all;
  for (const json::Value& v : document) all.push_back(read(v, fmt::format("{}, case {}", where, all.size() + 1)));
  return all;
}

const std::vector<Case>& all_cases() {
  static const std::string path = LLMCALC_SOURCE_DIR "/tests/golden_values/golden.json";
  static const std::vector<Case> all = cases(json::file_text(path), path);
  return all;
}

std::optional<Number> textbook_value(const Case& c) {
  const Row* r = row(c.quantity);
  if (r == nullptr) return std::nullopt;
  return r->value(json::Object(c.inputs, "golden case " + c.id));
}

bool equal(const Number& computed, std::string_view value) {
  const auto* exact = std::get_if<textbook::Fraction>(&computed);
  if (exact != nullptr && is_whole(value)) return exact->whole() && exact->numerator == parsed(value);
  return near(real_of(computed), std::strtod(std::string(value).c_str(), nullptr));
}

std::optional<Result> evaluate_textbook(const Case& c) {
  const auto computed = textbook_value(c);
  if (!computed) return std::nullopt;
  return Result{*computed, equal(*computed, c.value)};
}

std::string text(const Number& n) {
  const auto* exact = std::get_if<textbook::Fraction>(&n);
  if (exact != nullptr && exact->whole()) return digits(exact->numerator);
  return fmt::format("{}", real_of(n));
}

}  // namespace llmcalc::golden
