#include "text/elapsed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace llmcalc {

std::string clock_text(double seconds) {
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string left_text(double seconds, double done) {
  return done > 0 ? ", " + clock_text(seconds * (1 - done) / done) + " left" : "";
}

}  // namespace llmcalc
