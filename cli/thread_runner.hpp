#pragma once
/// Runs work on all cores, with progress on stderr, until the first Ctrl-C.

#include <atomic>
#include <mutex>
#include <optional>

#include "cli/progress_line.hpp"
#include "report/commands/runner.hpp"

namespace llmcalc {

class ThreadRunner : public Runner {
 public:
  std::size_t width() const override;
  /// Runs work(i) for every i below n. If the system cannot start a thread for a share of the work, that share runs
  /// after all other shares.
  void each(std::size_t n, const std::function<void(std::size_t)>& work) override;
  /// Starts to handle signals on the first call. True after the first signal; a second signal ends the program.
  bool stopped() const override;
  void show(const std::string& line) override;
  /// Removes the progress line.
  void end();

 private:
  std::mutex mutex_;
  std::optional<ProgressLine> line_;
};

}  // namespace llmcalc
