#pragma once
/// Runs the work of a tool call on all cores until the client cancels it, and reports its progress.

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cli/thread_runner.hpp"
#include "text/elapsed.hpp"

namespace llmcalc::mcp {

class CallRunner : public ThreadRunner {
 public:
  /// Receives the seconds since the start, which increase, and a line of text.
  using Progress = std::function<void(double seconds, const std::string& line)>;

  /// `progress` may be empty.
  CallRunner(const std::atomic<bool>& cancelled, Progress progress)
      : cancelled_(cancelled), progress_(std::move(progress)) {}

  bool stopped() const override { return cancelled_.load(); }
  /// Reports the line, at most ten times a second.
  void show(const std::string& line) override;

 private:
  const std::atomic<bool>& cancelled_;
  Progress progress_;
  Elapsed elapsed_;
  std::optional<double> reported_;
  std::mutex reporting_;
};

}  // namespace llmcalc::mcp
