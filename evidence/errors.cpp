#include "evidence/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "calc/elementary.hpp"

namespace llmcalc {

namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Summary of absolute errors, signed errors and coverage. A coverage value is 0 or 1 for a row, and a fraction for a
/// group.
ErrorSummary summed_up(const std::vector<double>& sizes, const std::vector<double>& signs,
                       const std::vector<double>& covered, const std::vector<double>& scores) {
  ErrorSummary s;
  if (sizes.empty()) return s;
  s.rows = static_cast<Count>(sizes.size());
  s.median = quantile(sizes, 0.5);
  s.mean = mean_of(sizes);
  s.p90 = quantile(sizes, 0.9);
  s.worst = *std::max_element(sizes.begin(), sizes.end());
  s.signed_median = quantile(signs, 0.5);
  if (!covered.empty()) s.coverage = mean_of(covered);
  if (!scores.empty()) s.interval_score = mean_of(scores);
  return s;
}

}  // namespace

double relative_error(const Compared& c) { return (c.predicted - c.measured) / c.measured; }

std::optional<bool> is_covered(const Compared& c) {
  if (!c.low || !c.high) return std::nullopt;
  return *c.low <= c.measured && c.measured <= *c.high;
}

std::optional<double> interval_score(const Compared& c) {
  if (!c.low || !c.high || *c.low <= 0) return std::nullopt;
  constexpr double outside = 2 / 0.1;
  const auto log_ratio = [](double a, double b) { return elementary::log(a / b); };
  const double below = std::max(0.0, log_ratio(*c.low, c.measured)),
               above = std::max(0.0, log_ratio(c.measured, *c.high));
  return log_ratio(*c.high, *c.low) + outside * (below + above);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = static_cast<double>(values.size() - 1) * q;
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double covering_width(const std::map<std::string, std::vector<double>>& errors, double q, double power) {
  double total = 0;
  for (const auto& [group, all] : errors) total += elementary::pow(static_cast<double>(all.size()), power);
  std::vector<std::pair<double, double>> weighted;
  for (const auto& [group, all] : errors)
    for (const double e : all)
      weighted.emplace_back(e, elementary::pow(static_cast<double>(all.size()), power - 1) / total);
  std::sort(weighted.begin(), weighted.end());
  std::size_t last = 0;
  double covered = 0, nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    covered += weighted[i].second;
    if (std::fabs(covered - q) > nearest) break;
    nearest = std::fabs(covered - q);
    last = i;
  }
  const double end = weighted[last].first, room = last + 1 < weighted.size() ? weighted[last + 1].first - end : 1;
  return end + std::min(0.01, room / 2);
}

ErrorSummary summary(std::span<const Compared> rows) {
  std::vector<double> sizes, signs, covered, scores;
  for (const Compared& c : rows) {
    signs.push_back(relative_error(c));
    sizes.push_back(std::fabs(signs.back()));
    if (const auto in = is_covered(c)) covered.push_back(*in ? 1 : 0);
    if (const auto score = interval_score(c)) scores.push_back(*score);
  }
  return summed_up(sizes, signs, covered, scores);
}

std::map<std::string, ErrorSummary> summary_by_group(std::span<const Compared> rows) {
  std::map<std::string, std::vector<Compared>> groups;
  for (const Compared& c : rows) groups[c.group].push_back(c);
  std::map<std::string, ErrorSummary> out;
  for (const auto& [group, members] : groups) out.emplace(group, summary(members));
  return out;
}

ErrorSummary summary_of_groups(std::span<const Compared> rows) {
  std::vector<double> sizes, signs, covered, scores;
  for (const auto& [group, s] : summary_by_group(rows)) {
    sizes.push_back(s.median);
    signs.push_back(s.signed_median);
    if (s.coverage) covered.push_back(*s.coverage);
    if (s.interval_score) scores.push_back(*s.interval_score);
  }
  return summed_up(sizes, signs, covered, scores);
}

}  // namespace llmcalc
