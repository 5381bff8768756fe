// Entry point of the kernel library: runs a complete command line of the program.

#include "cli/kernels/library.hpp"
#include "cli/command.hpp"

extern "C" LLMCALC_EXPORT int llmcalc_kernels(int count, const char* const* words) {
  return llmcalc::run_llmcalc(std::vector<std::string>(words, words + count));
}
