#pragma once
/// Whether what a plan trains can be trained: adapters, or a model of which parts are frozen.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws InputError where it cannot.
void check_trained(const Request& r);

}  // namespace llmcalc
