#include "search/numbers.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace llmcalc {
namespace {

Count odd_part(Count n) {
  while (n % 2 == 0) n /= 2;
  return n;
}

/// Products of odd factors of batch, heads and layers, one of each.
std::set<Count> odd_factors(const Space& space, Count most) {
  std::set<Count> all{1};
  for (const Count n : {space.plan.global_batch, space.arch.heads, space.arch.layers}) {
    std::set<Count> more;
    for (const Count factor : divisors(odd_part(std::max<Count>(n, 1))))
      for (const Count before : all)
        if (factor <= most / before) more.insert(factor * before);
    all = std::move(more);
  }
  return all;
}

}  // namespace

std::vector<Count> numbers_up_to(Count most) {
  std::vector<Count> all = powers_up_to(most);
  if (all.empty() || all.back() != most) all.push_back(most);
  return all;
}

std::vector<Count> even_numbers_between(const Space& space, Count low, Count high) {
  std::vector<Count> all;
  for (Count n : odd_factors(space, high)) {
    while (n <= low && n <= high / 2) n *= 2;
    for (; n > low && n < high; n = n <= high / 2 ? 2 * n : high) all.push_back(n);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<OfNumber> search_numbers(const Space& space, const Searching& searching) {
  std::vector<OfNumber> all;
  Space one = space;
  for (const Count n : space.gpus) {
    one.gpus = {n};
    all.push_back({n, searching(one)});
    if (all.back().found.stopped) break;
  }
  return all;
}

std::vector<Count> joined_numbers(const Space& space) {
  std::vector<Count> all = space.gpus;
  std::erase_if(all, [&](Count n) { return n > 1 && joining_link(space.cluster, n).bandwidth.value <= 0; });
  return all;
}

Seconds run_time(const Space& space, const Found& f, double tokens) {
  const double of_step = static_cast<double>(mul(space.plan.global_batch, space.plan.seq));
  return tokens / of_step * f.step;
}

FewestGpus fewest_gpus(const Space& space, Count most, const std::function<bool(const Space&, const Found&)>& reaches,
                       const Searching& searching) {
  FewestGpus all;
  Space one = space;
  /// Whether the numbers in order have an end: the first that reaches the goal, which becomes the answer, or a stop.
  const auto first_of = [&](const std::vector<Count>& numbers) {
    for (const Count n : numbers) {
      one.gpus = {n};
      const OfNumber& tried = all.tried.emplace_back(OfNumber{n, searching(one)});
      all.stopped = tried.found.stopped;
      if (all.stopped) return true;
      if (tried.found.best.empty() || !reaches(one, tried.found.best[0])) continue;
      all.found = tried.found.best[0];
      return true;
    }
    return false;
  };
  first_of(numbers_up_to(most));
  if (all.stopped) return all;
  const Count high = all.found ? all.found->candidate.gpus : most;
  Count low = 0;  // a quarter to a half of it
  for (const Count n : powers_up_to(high))
    if (n < high) low = n / 2;
  std::vector<Count> between = even_numbers_between(space, low, high);
  std::erase_if(between, [](Count n) { return odd_part(n) == 1; });
  first_of(between);
  std::sort(all.tried.begin(), all.tried.end(), [](const OfNumber& a, const OfNumber& b) { return a.gpus < b.gpus; });
  return all;
}

}  // namespace llmcalc
