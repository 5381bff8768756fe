#pragma once
/// Low-rank adapters that a row of training says it trains: "LoRA r=16 on q, v", "QLoRA 4-bit", "LoRA, all linear".

#include <optional>
#include <string>

#include "calc/plan.hpp"
#include "evidence/convert/training_layout.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// Whether the row trains adapters alone. "no LoRA" and "faster than LoRA" say that it does not; a family or a title of
/// both kinds of training ("full and LoRA recipes") says nothing.
bool trains_adapters(const TrainingRow& row);

/// Rank, targets and the format of the frozen weights, where the row trains adapters. What it does not state is
/// assumed: rank 16, every matrix of a block, frozen weights as they are multiplied, and NF4 of QLoRA
/// (arXiv:2305.14314). ZeRO-3 gathers weights of one format alone: frozen ones of another lie whole on every device.
/// Not empty `skip`: the rank is no lower than a matrix.
void use_adapters(const TrainingRow& row, const Arch& arch, Layout& split, Plan& plan, Assumptions& assumed,
                  std::string& skip);

}  // namespace llmcalc
