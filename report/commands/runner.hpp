#pragma once
/// Distributes a command's work, shows its progress and stops it. Results do not depend on the runner.

#include <cstddef>
#include <functional>
#include <string>

namespace llmcalc {

/// The base class runs all work serially, shows no progress and is never stopped.
class Runner {
 public:
  Runner() = default;
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Number of shares that run concurrently.
  virtual std::size_t width() const { return 1; }
  /// Calls work(i) for every i below n, in any order, possibly concurrently. Rethrows the first exception.
  virtual void each(std::size_t n, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = 0; i < n; ++i) work(i);
  }
  /// Whether to end early with the results so far.
  virtual bool stopped() const { return false; }
  /// Replaces the progress line; thread-safe.
  virtual void show(const std::string& line) { static_cast<void>(line); }
};

}  // namespace llmcalc
