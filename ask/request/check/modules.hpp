#pragma once
/// Whether a model's modules for further tokens (MTP) can do what a plan asks of them.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError where there are fewer than asked for, or where they are to be trained beside weights that are not.
void check_modules(const Request& r);

}  // namespace llmcalc
