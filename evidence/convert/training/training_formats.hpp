#pragma once
/// Number formats and optimizer of a training row, read from its text.

#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/stack.hpp"
#include "presets/hardware_file.hpp"

namespace llmcalc {

/// Reason that the row's precision or optimizer cannot be expressed, with the nearest names; empty if both can be.
std::string unknown_formats(const TrainingRow& row);

/// Sets the formats of matmuls, stored weights, and keys and values.
void use_formats(const TrainingRow& row, const HardwareCard& hardware, Plan& plan, Assumptions& assumed);

/// Sets the optimizer and the formats of gradients and optimizer states. Megatron-LM accumulates fp16 gradients in
/// fp16, and bf16 gradients in fp32. An optimizer without a plan option is replaced by one with the same number of
/// states if its work is similar: LAMB, but not Shampoo.
void use_states(const TrainingRow& row, const Stack& stack, Plan& plan, Assumptions& assumed);

}  // namespace llmcalc
