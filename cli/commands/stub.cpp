#include "cli/command.hpp"
namespace llmcalc {
int run_explain(Args) { return 0; }
}  // namespace llmcalc
