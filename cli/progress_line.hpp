#pragma once
/// How far long work has come, on stderr: one line written anew on a terminal, else a line now and then.

#include <chrono>
#include <string>

namespace llmcalc {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether a line would be shown now: ten times a second on a terminal, else every ten seconds.
  bool due() const;
  void show(const std::string& line);
  /// Takes the line away, so that something else can be said.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point last_ = Clock::now();
};

/// "1:05", "2:03:04".
std::string clock_text(double seconds);

}  // namespace llmcalc
