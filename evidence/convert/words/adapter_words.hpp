#pragma once
/// Low-rank adapters in a training row: "LoRA r=16 on q, v", "QLoRA 4-bit", "LoRA, all linear".

#include <optional>
#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// Whether the row trains only adapters. "no LoRA" and "faster than LoRA" count as denials. A family or title that
/// covers both kinds of training ("full and LoRA recipes") is ignored.
bool trains_adapters(const TrainingRow& row);

/// If the row trains adapters, sets their rank and targets, and the format of frozen weights. Defaults for unstated
/// values are noted as assumptions: rank 16, every matrix of a block, and frozen weights in the matmul format, or NF4
/// for QLoRA (arXiv:2305.14314). ZeRO-3 gathers weights of a single format, so frozen weights in another format are
/// replicated on every device. Sets `skip` if the rank is not lower than a matrix's number of columns.
void use_adapters(const TrainingRow& row, const Arch& arch, Layout& split, Plan& plan, Assumptions& assumed,
                  std::string& skip);

}  // namespace llmcalc
