#pragma once
/// Runs work on all cores, with progress on stderr, until the first Ctrl-C.

#include <atomic>
#include <mutex>
#include <optional>

#include "cli/progress_line.hpp"
#include "report/commands/threads.hpp"

namespace llmcalc {

class ThreadRunner : public Threads {
 public:
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
