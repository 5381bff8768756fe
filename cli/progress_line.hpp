#pragma once
/// How far long work has come, on stderr: nothing in the first second, then one line rewritten on a terminal, else a
/// line every ten seconds. A thread of its own writes it, however long a step of the work takes.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "text/elapsed.hpp"

namespace llmcalc {

class ProgressLine {
 public:
  explicit ProgressLine(std::string line = "");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Sets the text of the line, which follows the elapsed time.
  void show(std::string line);
  /// Takes the line away, so that something else can be said.
  void clear();
  double seconds() const { return elapsed_.seconds(); }

 private:
  void write_until_over();
  bool terminal_, shown_ = false, over_ = false;
  Elapsed elapsed_;
  std::string line_;  ///< empty: nothing is shown
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread writer_;
};

}  // namespace llmcalc
