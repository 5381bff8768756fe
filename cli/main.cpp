#include <csignal>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> args(argv + 1, argv + argc);
  return llmcalc::run_llmcalc(args);
}
