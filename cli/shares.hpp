#pragma once
/// Work on a list that every core takes a share of.

#include <algorithm>
#include <future>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

namespace llmcalc {

/// f(element) of each, in their order. Shares for which the system starts no thread wait for the others.
template <typename T, typename F>
auto on_all_cores(std::span<const T> all, const F& f) {
  using Made = decltype(f(all[0]));
  const auto some = [&](std::size_t begin, std::size_t end) {
    std::vector<Made> made;
    for (const T& one : all.subspan(begin, end - begin)) made.push_back(f(one));
    return made;
  };
  const std::size_t shares = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  std::vector<std::future<std::vector<Made>>> running;
  for (std::size_t i = 0; i < shares; ++i)
    running.push_back(std::async(std::launch::async | std::launch::deferred, some, all.size() * i / shares,
                                 all.size() * (i + 1) / shares));
  std::vector<Made> made;
  for (auto& share : running) std::ranges::move(share.get(), std::back_inserter(made));
  return made;
}

}  // namespace llmcalc
