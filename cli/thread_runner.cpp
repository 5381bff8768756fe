#include "cli/thread_runner.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "cli/stop.hpp"

namespace llmcalc {

std::size_t ThreadRunner::width() const { return std::max(1U, std::thread::hardware_concurrency()); }

void ThreadRunner::each(std::size_t n, const std::function<void(std::size_t)>& work) {
  std::vector<std::future<void>> running;
  for (std::size_t i = 0; i < n; ++i)
    running.push_back(std::async(std::launch::async | std::launch::deferred, [&work, i] { work(i); }));
  for (std::future<void>& share : running) share.get();
}

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
