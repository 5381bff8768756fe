#pragma once
/// Elapsed and remaining time of a long task, as text.

#include <chrono>
#include <string>

namespace llmcalc {

/// Seconds since construction.
class Elapsed {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// `seconds` as "1:05" or "2:03:04".
std::string clock_text(double seconds);

/// Text such as ", 1:05 left" for the remaining time, given that the fraction `done` of the work took `seconds`; empty
/// if `done` is 0.
std::string left_text(double seconds, double done);

}  // namespace llmcalc
