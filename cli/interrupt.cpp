#include "cli/interrupt.hpp"

#include <csignal>

namespace llmcalc {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
  return interrupted;
}

}  // namespace llmcalc
