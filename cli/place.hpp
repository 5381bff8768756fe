#pragma once
/// Where the reference transformer runs: what --device says.

#include <atomic>
#include <string>

#include "validate/run.hpp"

namespace llmcalc {

/// "cpu" or "cuda". Throws InputError where there is no GPU to be used.
validate::Where place(const std::string& device, const std::atomic<bool>* stop = nullptr);

}  // namespace llmcalc
