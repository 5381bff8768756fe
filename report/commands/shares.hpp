#pragma once
/// Maps a function over a list, distributed by a Runner.

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "report/commands/runner.hpp"

namespace llmcalc {

/// Returns f(element) for each element, in order.
template <typename T, typename F>
auto spread(Runner& runner, std::span<const T> all, const F& f) {
  using Made = decltype(f(all[0]));
  const std::size_t shares = std::clamp<std::size_t>(runner.width(), 1, 8);
  std::vector<std::vector<Made>> parts(shares);
  runner.each(shares, [&](std::size_t i) {
    const std::size_t begin = all.size() * i / shares, end = all.size() * (i + 1) / shares;
    for (const T& one : all.subspan(begin, end - begin)) parts[i].push_back(f(one));
  });
  std::vector<Made> made;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(made));
  return made;
}

}  // namespace llmcalc
