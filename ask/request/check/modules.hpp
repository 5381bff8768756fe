#pragma once
/// Checks whether a model's MTP modules support the plan.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError if the model has too few MTP modules, or if they would be trained with a partly frozen model.
void check_modules(const Request& r);

}  // namespace llmcalc
