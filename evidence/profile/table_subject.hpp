#pragma once
/// Device and model of operator tables, as inputs of the calculation.

#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/device.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct TableSubject {
  std::string name;  ///< label: "llama-3.1-8b, tp 1"
  Arch arch;
  Plan plan;  ///< only its number formats are set
  Layout layout;
};

/// Name of the hardware preset of all tables, according to meta.yaml or the device's folder. Throws InputError if a
/// table matches no preset (with the nearest names) or if two tables match different presets.
std::string device_of(const std::vector<OperatorTables>& all);

/// The device and model of a table. The model is `said` if present, otherwise the preset named by meta.yaml or by the
/// model's folder. Formats are from meta.yaml. Adds assumptions to `assumed` as sentences. Throws InputError for an
/// unknown model or format, for a rank count that does not divide the model, and for a mixture-of-experts model whose
/// tables lack expert times.
TableSubject subject_of(const OperatorTables& t, const std::optional<ModelCard>& said, const Device& device,
                        std::vector<std::string>& assumed);

}  // namespace llmcalc
