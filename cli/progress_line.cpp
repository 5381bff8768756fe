#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace llmcalc {

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::due() const {
  return Clock::now() - last_ >= (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000));
}

void ProgressLine::show(const std::string& line) {
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = true;
  last_ = Clock::now();
}

void ProgressLine::clear() {
  if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

std::string clock_text(double seconds) {
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace llmcalc
