#pragma once
/// The architecture of a row: from its own shapes, with what every model of that kind has where the row is silent.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "evidence/convert/inference_row.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// An architecture, or why there is none.
struct RowArch {
  Arch arch;
  std::vector<std::string> assumed;  ///< sentences, where the row is silent or not understood
  bool weighty = false;              ///< whether time depends strongly on one of them
  std::string skip;                  ///< not empty: the row's shapes are no model
};

RowArch arch_of(const TrainingRow& row);
RowArch arch_of(const InferenceRow& row);

}  // namespace llmcalc
