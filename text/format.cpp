#include "text/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace llmcalc {
namespace {

/// `v` with three to four significant digits, whatever its magnitude: 0.0123, 1.234, 12.34, 123.4, 1234.
std::string rounded(double v) {
  const double a = std::fabs(v);
  if (v == 0) return "0";
  if (!std::isfinite(v)) return fmt::format("{}", v);
  if (a >= 1000) return grouped_digits(fmt::format("{:.0f}", v));
  if (a >= 100) return fmt::format("{:.1f}", v);
  if (a >= 10) return fmt::format("{:.2f}", v);
  if (a >= 0.1) return fmt::format("{:.3f}", v);
  return fmt::format("{:.3g}", v);
}

struct Prefix {
  double factor;
  std::string_view name;
};

/// `v` with the largest prefix that leaves a number of at least 1.
template <std::size_t N>
std::string scaled(double v, const std::array<Prefix, N>& prefixes) {
  for (const Prefix& p : prefixes)
    if (std::fabs(v) >= p.factor) return fmt::format("{} {}", rounded(v / p.factor), p.name);
  return fmt::format("{} {}", rounded(v / prefixes.back().factor), prefixes.back().name);
}

constexpr std::array<Prefix, 4> counts{{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
constexpr std::array<Prefix, 4> binary_prefixes{
    {{1099511627776.0 * 1024, "PiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
constexpr std::array<Prefix, 7> operations{{{1e24, "YFLOP"},
                                            {1e21, "ZFLOP"},
                                            {1e18, "EFLOP"},
                                            {1e15, "PFLOP"},
                                            {1e12, "TFLOP"},
                                            {1e9, "GFLOP"},
                                            {1e6, "MFLOP"}}};

std::string time_text(double s) {
  if (s >= 86400 * 2) return fmt::format("{} days", rounded(s / 86400));
  if (s >= 7200) return fmt::format("{} h", rounded(s / 3600));
  if (s >= 120) return fmt::format("{} min", rounded(s / 60));
  if (s >= 1) return fmt::format("{} s", rounded(s));
  if (s >= 1e-3) return fmt::format("{} ms", rounded(s * 1e3));
  return fmt::format("{} us", rounded(s * 1e6));
}

double as_double(const Quantity& q) {
  if (const Count* c = std::get_if<Count>(&q)) return static_cast<double>(*c);
  if (const Flops* f = std::get_if<Flops>(&q)) return static_cast<double>(f->value);
  if (const double* d = std::get_if<double>(&q)) return *d;
  return 0;
}

std::string counted_kind(double v, std::string_view what) {
  if (v < 1000) return fmt::format("{} {}", rounded(v), what);
  return fmt::format("{} {}", scaled(v, counts), what);
}

std::string plain_text(const Quantity& q) {
  if (const double v = as_double(q); v >= 1e6) return scaled(v, counts);
  const double* d = std::get_if<double>(&q);
  return d ? rounded(*d) : exact_text(q);
}

}  // namespace

std::string digits(Int128 value) {
  std::string s;
  do s.insert(s.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  while ((value /= 10) != 0);
  return s;
}

std::string grouped_digits(const std::string& digits) {
  const bool negative = !digits.empty() && digits[0] == '-';
  std::string s;
  const std::string_view number = std::string_view(digits).substr(negative ? 1 : 0);
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (i > 0 && (number.size() - i) % 3 == 0) s += ',';
    s += number[i];
  }
  return negative ? "-" + s : s;
}

std::string exact_text(const Quantity& q) {
  if (const Count* c = std::get_if<Count>(&q)) return grouped_digits(fmt::format("{}", *c));
  if (const Flops* f = std::get_if<Flops>(&q)) return grouped_digits(digits(f->value));
  if (const bool* b = std::get_if<bool>(&q)) return *b ? "yes" : "no";
  if (const std::string* s = std::get_if<std::string>(&q)) return *s;
  return fmt::format("{}", std::get<double>(q));
}

std::string human_text(const Quantity& q, Unit unit) {
  if (std::holds_alternative<bool>(q) || std::holds_alternative<std::string>(q)) return exact_text(q);
  const double v = as_double(q);
  switch (unit) {
    case Unit::none:
      return plain_text(q);
    case Unit::parameters:
      return counted_kind(v, "parameters");
    case Unit::tokens:
      return std::holds_alternative<Count>(q) && v < 1e6 ? exact_text(q) + " tokens" : counted_kind(v, "tokens");
    case Unit::sequences:
      return exact_text(q) + (v == 1 ? " sequence" : " sequences");
    case Unit::bytes:
      return v < 1024 ? fmt::format("{} B", rounded(v)) : scaled(v, binary_prefixes);
    case Unit::flops:
      return v < 1e6 ? fmt::format("{} FLOP", rounded(v)) : scaled(v, operations);
    case Unit::seconds:
      return time_text(v);
    case Unit::ratio:
      return fmt::format("{} %", rounded(100 * v));
    case Unit::tokens_per_second:
      return fmt::format("{} tokens/s", rounded(v));
    case Unit::flops_per_byte:
      return fmt::format("{} FLOP/byte", rounded(v));
    case Unit::days:
      return fmt::format("{} days", rounded(v));
    case Unit::hours:
      return fmt::format("{} h", rounded(v));
    case Unit::kilowatt_hours:
      if (v >= 1e6) return fmt::format("{} GWh", rounded(v / 1e6));
      return v >= 1e3 ? fmt::format("{} MWh", rounded(v / 1e3)) : fmt::format("{} kWh", rounded(v));
    case Unit::kilograms:
      return v >= 1e3 ? fmt::format("{} t", rounded(v / 1e3)) : fmt::format("{} kg", rounded(v));
    case Unit::dollars:
      return fmt::format("{} USD", rounded(v));
    case Unit::bits:
      return fmt::format("{} bits", rounded(v));
  }
  return exact_text(q);
}
std::string bytes_text(Bytes b) { return human_text(Quantity(b.value), Unit::bytes); }
std::string seconds_text(Seconds t) { return human_text(Quantity(t.value), Unit::seconds); }

std::string short_text(const Quantity& value, Unit unit) {
  const std::string human = human_text(value, unit);
  return human.substr(0, human.rfind(' '));
}

}  // namespace llmcalc
