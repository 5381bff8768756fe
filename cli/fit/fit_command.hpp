#pragma once
/// The only command of the program llmcalc-fit.

#include "cli/command.hpp"

namespace llmcalc {

extern const Command fit_program;

}  // namespace llmcalc
