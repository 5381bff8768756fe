#pragma once
/// Time of long work, for people.

#include <chrono>
#include <string>

namespace llmcalc {

/// Seconds since it was made.
class Elapsed {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// "1:05", "2:03:04".
std::string clock_text(double seconds);

/// The remaining time, ", 1:05 left", if the share `done` of the work took `seconds`; empty if nothing is done yet.
std::string left_text(double seconds, double done);

}  // namespace llmcalc
