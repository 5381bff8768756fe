#pragma once
/// Runs work on all cores. The only file of report/ that uses threads; programs without threads do not include it.

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "report/commands/runner.hpp"

namespace llmcalc {

class Threads : public Runner {
 public:
  std::size_t width() const override { return std::max(1U, std::thread::hardware_concurrency()); }
  /// Runs work(i) for every i below n. If the system cannot start a thread for a share of the work, that share runs
  /// after all other shares.
  void each(std::size_t n, const std::function<void(std::size_t)>& work) override {
    std::vector<std::future<void>> running;
    for (std::size_t i = 0; i < n; ++i)
      running.push_back(std::async(std::launch::async | std::launch::deferred, [&work, i] { work(i); }));
    for (std::future<void>& share : running) share.get();
  }
};

}  // namespace llmcalc
