#pragma once
/// The CPU backend, using this CPU's best instruction set.

#include <memory>
#include <string_view>
#include <vector>

#include "model/backend.hpp"

namespace llmcalc::model {

enum class Number : std::uint8_t { f32, bf16, f16, f64, counted };

/// Instruction sets for which the kernels are compiled and that this CPU supports, best first; the last is "portable".
std::vector<std::string_view> instruction_sets();

/// Creates a CPU backend. poison: whether to fill memory with NaN, which exposes reads of unwritten memory. The
/// environment variable LLMCALC_ISA selects the instruction set. Throws InputError if this CPU lacks it.
std::unique_ptr<Backend> make_cpu(Number number, bool poison = false);

}  // namespace llmcalc::model
