#pragma once
/// The backend that --device selects for the reference transformer.

#include <string>
#include <string_view>

#include "validate/run.hpp"

namespace llmcalc {

/// Parses "cpu", "cuda" or "cuda:N". Throws InputError if there is no usable GPU.
validate::Where place(const std::string& device);

bool is_gpu(std::string_view device);

}  // namespace llmcalc
