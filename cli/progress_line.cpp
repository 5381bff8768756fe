#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "cli/output.hpp"

namespace llmcalc {
namespace {

constexpr const char* erased = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(std::string line) : terminal_(::isatty(STDERR_FILENO) == 1), line_(std::move(line)) {
  try {
    writer_ = std::thread([this] { write_until_over(); });
  } catch (const std::system_error&) {  // without a thread the work continues silently
  }
}

ProgressLine::~ProgressLine() {
  clear();
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
}

void ProgressLine::write_until_over() {
  constexpr std::chrono::milliseconds quiet{1000}, terminal_pause{100}, file_pause{10000};
  std::unique_lock lock(mutex_);
  for (auto pause = quiet; !wake_.wait_for(lock, pause, [this] { return over_; });
       pause = terminal_ ? terminal_pause : file_pause) {
    if (line_.empty()) continue;
    const std::string text = clock_text(seconds()) + "  " + line_;
    say_raw(terminal_ ? erased + text : text + "\n");
    shown_ = true;
  }
}

void ProgressLine::show(std::string line) {
  const std::lock_guard lock(mutex_);
  line_ = std::move(line);
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (terminal_ && std::exchange(shown_, false)) say_raw(erased);
  line_.clear();
}

}  // namespace llmcalc
