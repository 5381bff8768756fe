#include "cli/thread_runner.hpp"

#include "cli/stop.hpp"

namespace llmcalc {

bool ThreadRunner::stopped() const {
  static const std::atomic<bool>& flag = stop_flag();
  return flag.load();
}

void ThreadRunner::show(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (!line_) line_.emplace("");
  line_->show(line);
}

void ThreadRunner::end() {
  const std::lock_guard lock(mutex_);
  line_.reset();
}

}  // namespace llmcalc
