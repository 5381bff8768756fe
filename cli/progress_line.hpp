#pragma once
/// Progress of long work on stderr: one line, rewritten in place on a terminal; otherwise a new line now and then.

#include <chrono>
#include <string>

namespace llmcalc {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether it is time to show a line: ten times a second on a terminal, otherwise every ten seconds.
  bool due() const;
  void show(const std::string& line);
  /// Erases the line, so that something else can be printed.
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
