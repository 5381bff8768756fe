#pragma once
/// A software profile: what a stack does, as far as an estimate depends on it.
///
/// { "name", "title"?, "aliases"?, "for": "training",
///   "fusion":    "megatron", "tuned", "compiled", "eager", "unfused" or "native"   (Fusion, presets/estimator.hpp)
///   "attention": "vendor" or "flash-2"            its flash kernel on devices that have both
///   "norms":     "fused" or "written out"         of models with RMSNorm
///   "experts":   "grouped" or "one by one"        products of experts
///   "tensor_exchanges": "overlapped" or "waited for"
///   "source", "notes"? }
///
/// The numbers that belong to these words are fitted: presets/training_parameters.json.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "presets/estimator.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct SoftwareCard {
  std::string name, title, source, notes;
  std::vector<std::string> aliases;
  TrainingStack stack;  ///< of a model with RMSNorm and flash attention
};

SoftwareCard read_software_file(const json::Value& value, const std::string& where);

/// The stack as it runs a model under a plan.
TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan);

}  // namespace llmcalc
