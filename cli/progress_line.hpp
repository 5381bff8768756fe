#pragma once
/// Progress of long work on stderr: silent in the first second, then one rewritten line on a terminal, otherwise a line
/// every ten seconds. A separate thread writes it, so that long steps of the work do not delay it.

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

  /// Sets the text shown after the elapsed time.
  void show(std::string line);
  /// Clears the progress line so that other output can be printed.
  void clear();
  double seconds() const { return elapsed_.seconds(); }

 private:
  void write_until_over();
  bool terminal_, shown_ = false, over_ = false;
  Elapsed elapsed_;
  std::string line_;  ///< text of the line; empty: no line
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread writer_;
};

}  // namespace llmcalc
