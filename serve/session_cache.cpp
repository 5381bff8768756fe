#include "serve/session_cache.hpp"

#include <algorithm>
#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

/// Blocks b(k) that a session's turn k leaves in the cache.
double left_by(const SchedulerRules& rules, const Sessions& s, Count turn) {
  const double each = 2 * s.history / static_cast<double>(s.turns - 1);  // tokens that a turn adds
  return static_cast<double>(rules.whole_groups) *
         std::floor(static_cast<double>(turn) * each / static_cast<double>(rules.block_tokens));
}

}  // namespace

double kept_share(const SchedulerRules& rules, const Sessions& s, double rate, double room) {
  constexpr double least = 1e-9, most = 1e9;  // seconds
  const double think = std::max(s.think.value, least), sessions = rate / static_cast<double>(s.turns);
  double again = 0;
  for (Count k = 1; k < s.turns; ++k) again += left_by(rules, s, k);
  const double last = left_by(rules, s, s.turns);
  const auto kept = [&](double time) { return 1 - elementary::exp(-time / think); };
  double low = 0, high = most;
  for (int i = 0; i < 80; ++i) {
    const double time = (low + high) / 2;
    (sessions * (again * think * kept(time) + last * time) <= room ? low : high) = time;
  }
  return kept(low);
}

}  // namespace llmcalc
