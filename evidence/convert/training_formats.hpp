#pragma once
/// The number formats and the optimizer of a row of training, as its words tell them.

#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training_layout.hpp"
#include "evidence/convert/training_row.hpp"
#include "evidence/names/stack.hpp"
#include "presets/hardware_file.hpp"

namespace llmcalc {

/// Why the row's precision or optimizer cannot be expressed, with the nearest names; empty: it can.
std::string unknown_formats(const TrainingRow& row);

/// Which formats the products run in, and weights and keys are held in.
void use_formats(const TrainingRow& row, const HardwareCard& hardware, Plan& plan, Assumptions& assumed);

/// The optimizer, and the formats of gradients and its states. Megatron-LM accumulates gradients of fp16 in fp16, and
/// of bf16 in fp32. An optimizer that no plan has is one with as many states, if its work is alike: LAMB, not Shampoo.
void use_states(const TrainingRow& row, const Stack& stack, Plan& plan, Assumptions& assumed);

}  // namespace llmcalc
