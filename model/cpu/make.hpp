#pragma once
/// The operators on this machine's cores, in the best instruction set that it has.

#include <memory>
#include <string_view>
#include <vector>

#include "model/backend.hpp"

namespace llmcalc::model {

enum class Number : std::uint8_t { f32, bf16, f64, counted };

/// The instruction sets that the kernels are compiled for and this processor has, best first; the last is "portable".
std::vector<std::string_view> instruction_sets();

/// poison: memory begins as NaN, so that reading what was never written shows. LLMCALC_ISA in the environment names the
/// instruction set to use. Throws InputError: this processor has no such set.
std::unique_ptr<Backend> make_cpu(Number number, bool poison = false);

}  // namespace llmcalc::model
