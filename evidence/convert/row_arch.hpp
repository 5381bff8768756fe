#pragma once
/// Architecture of a row's model: from the shapes in the row or, for values that the row lacks, from conventions for
/// that kind of model.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "evidence/convert/inference_row.hpp"
#include "evidence/convert/training_row.hpp"

namespace llmcalc {

/// An architecture, or the reason that there is none.
struct RowArch {
  Arch arch;
  std::vector<std::string> assumed;  ///< sentences, for values that are missing or not understood
  bool weighty = false;              ///< time depends strongly on one of the assumptions
  std::string skip;                  ///< if not empty, why the row's shapes do not describe a model
};

RowArch arch_of(const TrainingRow& row);
RowArch arch_of(const InferenceRow& row);

}  // namespace llmcalc
