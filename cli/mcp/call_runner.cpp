#include "cli/mcp/call_runner.hpp"

namespace llmcalc::mcp {

void CallRunner::show(const std::string& line) {
  constexpr double pause = 0.1;
  if (!progress_ || stopped()) return;
  const std::lock_guard lock(reporting_);
  const double now = elapsed_.seconds();
  if (reported_ && now < *reported_ + pause) return;
  reported_ = now;
  progress_(now, line);
}

}  // namespace llmcalc::mcp
