#pragma once
/// The backend that --device selects for the reference transformer.

#include <atomic>
#include <string>

#include "validate/run.hpp"

namespace llmcalc {

/// The backend for "cpu" or "cuda". Throws InputError if there is no usable GPU.
validate::Where place(const std::string& device, const std::atomic<bool>* stop = nullptr);

}  // namespace llmcalc
