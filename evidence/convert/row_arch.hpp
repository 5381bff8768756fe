#pragma once
/// Architecture of a row's model: from the shapes in the row or, for values that the row lacks, from conventions for
/// that kind of model.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

/// An architecture, or the reason that there is none.
struct RowArch {
  Arch arch;
  std::vector<std::string> assumed;  ///< assumptions as sentences, for values that are missing or not understood
  bool weighty = false;              ///< whether time depends strongly on one of the assumptions
  std::string skip;                  ///< why the row's shapes do not describe a model; empty if they do
};

RowArch arch_of(const TrainingRow& row);
RowArch arch_of(const InferenceRow& row);

/// MTP modules as in DeepSeek-V3: each has a layer like the model's last one and a norm of its own.
constexpr Mtp modules_like_last_layer(const Arch& arch, Count modules) {
  return {.modules = modules, .mixer_of = arch.layers - 1, .mlp_of = arch.layers - 1, .own_norm = true};
}

}  // namespace llmcalc
