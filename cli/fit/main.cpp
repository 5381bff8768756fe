#include "cli/fit/fit_command.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  return llmcalc::run_program(llmcalc::fit_program, args);
}
