// Checks that the rounds of a calibration agree and that its values are consistent.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/error.hpp"
#include "validate/calibrate.hpp"

namespace llmcalc::validate {
namespace {

/// Calls f(key, value) for every measured value.
template <typename C, typename F>
void for_each_number(C& c, const F& f) {
  f("copy_bytes_per_s", c.copy.value);
  f("cache_bytes_per_s", c.cache_bandwidth.value);
  f("launch_s", c.launch.forward.value);
  f("launch_backward_s", c.launch.backward.value);
  f("recorded_s", c.recorded.forward.value);
  f("recorded_backward_s", c.recorded.backward.value);
  f("functions_per_s", c.functions);
  for (auto& r : c.formats) {
    const std::string name(r.format.name());
    f("attention_" + name, r.flash.forward.value);
    f("attention_backward_" + name, r.flash.backward.value);
    if (r.plain.forward.value > 0) {
      f("plain_attention_" + name, r.plain.forward.value);
      f("plain_attention_backward_" + name, r.plain.backward.value);
    }
    f("naive_attention_" + name, r.naive.forward.value);
    f("naive_attention_backward_" + name, r.naive.backward.value);
    f("half_matmul_" + name, r.half_matmul);
    f("unaligned_" + name, r.unaligned);
    f("exposed_" + name, r.exposed);
    for (auto& m : r.matmuls) f(matmul_key(r.format, m.size), m.rate.value);
  }
}

/// Whether a value is a rate. The other values are tiny times or differences of times, so they are mostly noise and
/// hardly affect a prediction.
bool is_rate(const std::string& key) {
  return std::ranges::none_of(std::array{"half_", "exposed_", "recorded_", "launch_"},
                              [&](const char* other) { return key.starts_with(other); });
}

[[noreturn]] void contradiction(const std::string& what) {
  throw InputError(
      fmt::format("inconsistent measurements: {}; close other programs and rerun 'llmcalc calibrate'", what));
}

void refuse_impossible(const FormatRates& f) {
  // A CPU without the format reads an operand, widens it to four bytes and rereads it, so ten bytes are moved instead
  // of two.
  constexpr double most_exposed = 5;
  const std::string name(f.format.name());
  if (f.exposed > most_exposed)
    contradiction(
        fmt::format("the non-overlapped part of a matmul in {} takes {:.3g} times its memory time", name, f.exposed));
  for (const CoreRates& core : {f.flash, f.naive})
    for (const FlopsPerSecond rate : {core.forward, core.backward})
      if (rate.value > band * f.best().value)
        contradiction(
            fmt::format("attention in {} at {:.4g} GFLOP/s is faster than the fastest matmul at {:.4g} GFLOP/s", name,
                        rate.value / 1e9, f.best().value / 1e9));
}

double median(std::vector<double>& v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Interquartile range of sorted values, relative to the median.
double middle_half(const std::vector<double>& v) {
  const double middle = std::abs(v[v.size() / 2]);
  return middle > 0 ? (v[v.size() * 3 / 4] - v[v.size() / 4]) / middle : 0;
}

}  // namespace

std::string matmul_key(DType format, const MatmulSize& s) {
  return fmt::format("matmul_{}_{}x{}x{}", format.name(), s.rows, s.out, s.in);
}

double Calibration::spread_of(const std::string& key) const { return spread.contains(key) ? spread.at(key) : 0; }

Calibration median_of(std::span<const Calibration> measured) {
  std::map<std::string, std::vector<double>> all;
  std::vector<double> caches;
  for (const Calibration& c : measured) {
    for_each_number(c, [&](const std::string& key, double x) { all[key].push_back(x); });
    caches.push_back(static_cast<double>(c.cache.value));
  }
  Calibration result = measured[0];
  for_each_number(result, [&](const std::string& key, double& x) {
    x = median(all[key]);
    result.spread[key] = middle_half(all[key]);
  });
  result.cache = Bytes(static_cast<Count>(median(caches)));
  return result;
}

void refuse_unless_positive(const Calibration& c) {
  for_each_number(c, [&](const std::string& key, double x) {
    if (is_rate(key) && !(x > 0)) contradiction(fmt::format("{} is {:.3g}, but must be positive", key, x));
  });
}

void refuse_contradictions(const Calibration& c) {
  refuse_unless_positive(c);
  // Even additions of arrays larger than the caches run at memory speed, which exceeds half the copy speed.
  if (c.cache_bandwidth.value < c.copy.value / 2)
    contradiction(fmt::format("in-cache additions at {:.4g} GB/s are slower than memory copies at {:.4g} GB/s",
                              c.cache_bandwidth.value / 1e9, c.copy.value / 1e9));
  for (const FormatRates& f : c.formats) refuse_impossible(f);
  for (const auto& [key, spread] : c.spread)
    if (is_rate(key) && spread > most_spread)
      contradiction(fmt::format("{} varies by {:.0f} % between rounds, more than the {:.0f} % allowed", key,
                                100 * spread, 100 * most_spread));
}

}  // namespace llmcalc::validate
