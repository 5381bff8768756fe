#include "report/plot/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc::plot {
namespace {

bool is_shown(const Axis& axis, double value) {
  return std::isfinite(value) && (axis.spacing != Spacing::logarithmic || value > 0);
}

/// The largest round step that is at most `x`: 1, 2 or 5 times a power of 10, a power of 2 for bytes, whole minutes or
/// hours for longer times.
double round_step(double x, Unit unit) {
  if (unit == Unit::bytes) return elementary::pow(2, std::floor(elementary::log2(x)));
  constexpr std::array<double, 9> of_clock{60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400};
  if (unit == Unit::seconds && x >= of_clock[0])
    return *std::prev(std::upper_bound(of_clock.begin(), of_clock.end(), x));
  const double power = elementary::pow(10, std::floor(elementary::log10(x)));
  for (const double times : {5.0, 2.0})
    if (times * power <= x) return times * power;
  return power;
}

/// "0.25", "20,000", "1.5e+09".
std::string number_without_unit(double value) {
  constexpr double most = 1e7;
  if (value == std::floor(value) && std::abs(value) >= 1000 && std::abs(value) < most)
    return grouped_digits(fmt::format("{:.0f}", value));
  return fmt::format("{:.4g}", value);
}

/// "10.00 ms" without the zeros after the point: "10 ms".
std::string without_zeros(std::string text) {
  const std::size_t space = std::min(text.find(' '), text.size()), point = text.find('.');
  if (point > space) return text;
  std::size_t end = space;
  while (text[end - 1] == '0') --end;
  if (end - 1 == point) --end;
  return text.erase(end, space - end);
}

}  // namespace

Scale::Scale(const Axis& axis, const std::vector<double>& values) : axis_(axis) {
  bool any = false;
  for (const double v : values) {
    if (!is_shown(axis, v)) continue;
    low_ = any ? std::min(low_, v) : v;
    high_ = any ? std::max(high_, v) : v;
    any = true;
  }
  if (axis.spacing == Spacing::linear) low_ = std::min(low_, 0.0);
  if (high_ > low_) return;
  high_ = axis.spacing == Spacing::logarithmic ? 10 * low_ : low_ + 1;
}

std::optional<double> Scale::at(double value) const {
  if (!is_shown(axis_, value)) return std::nullopt;
  if (axis_.spacing != Spacing::logarithmic) return (value - low_) / (high_ - low_);
  return elementary::log(value / low_) / elementary::log(high_ / low_);
}

/// Powers of 10, or of 2 for bytes, thinned out to at most `n`; with few of them, also 2 and 5 times each.
std::vector<double> Scale::powers(int n) const {
  const double base = axis_.unit == Unit::bytes ? 2 : 10;
  const auto first = std::lround(std::floor(elementary::log(low_) / elementary::log(base) + 1e-9)),
             last = std::lround(std::ceil(elementary::log(high_) / elementary::log(base) - 1e-9));
  const long step = std::max(1L, (last - first) / n);
  std::vector<double> all;
  for (long i = first; i <= last; i += step) {
    const double power = elementary::pow(base, static_cast<double>(i));
    all.push_back(power);
    if (base == 10 && 2 * (last - first) <= n) all.insert(all.end(), {2 * power, 5 * power});
  }
  std::erase_if(all, [&](double v) { return v < low_ * (1 - 1e-9) || v > high_ * (1 + 1e-9); });
  return all;
}

std::vector<double> Scale::ticks(int n) const {
  if (axis_.spacing == Spacing::logarithmic) return powers(n);
  const double step = round_step((high_ - low_) / n * 1.5, axis_.unit);
  std::vector<double> all;
  for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ * (1 + 1e-9); ++i) all.push_back(i * step);
  return all;
}

std::string Scale::text(double value) const {
  if (value == 0) return "0";
  if (axis_.unit == Unit::none) return number_without_unit(value);
  if (axis_.unit == Unit::bytes) return without_zeros(human_text(Count(std::llround(value)), Unit::bytes));
  return without_zeros(human_text(value, axis_.unit));
}

}  // namespace llmcalc::plot
