#pragma once
/// The CPU backend in the best instruction set of this processor.

#include <memory>
#include <string_view>
#include <vector>

#include "model/backend.hpp"

namespace llmcalc::model {

enum class Number : std::uint8_t { f32, bf16, f16, f64, counted };

/// The instruction sets that the kernels are compiled for and this processor has, best first; the last is "portable".
std::vector<std::string_view> instruction_sets();

/// Creates a CPU backend. poison: memory begins as NaN, so that reads of unwritten memory show. LLMCALC_ISA in the
/// environment names the instruction set; throws InputError if this processor lacks it.
std::unique_ptr<Backend> make_cpu(Number number, bool poison = false);

}  // namespace llmcalc::model
